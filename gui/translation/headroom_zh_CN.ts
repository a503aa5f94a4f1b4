<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>headroom::gui::AnswerPanel</name>
    <message>
        <source>%1 throughout</source>
        <translation>%1，始终驻留</translation>
    </message>
    <message>
        <source>at most %1, pass by pass</source>
        <translation>至多 %1，逐遍载入</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>The most device bytes at any moment, of every kind.</source>
        <translation>任一时刻设备上各类内存之和的最大值。</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Predicted time of the whole decode.</source>
        <translation>按代价预测的整个解码时间。</translation>
    </message>
    <message>
        <source>Optimality</source>
        <translation>最优性</translation>
    </message>
    <message>
        <source>How much faster another plan under this limit can be at most. Optimal: no plan is faster.</source>
        <translation>此上限下其他方案至多能快多少。最优：没有更快的方案。</translation>
    </message>
    <message>
        <source>Passes</source>
        <translation>遍数</translation>
    </message>
    <message>
        <source>Sweeps over the picture, tile by tile; each ends where all of a tensor is needed.</source>
        <translation>逐块扫过图像的次数；每一遍到需要某个完整张量处结束。</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>Parameters on the device.</source>
        <translation>设备上的参数。</translation>
    </message>
    <message>
        <source>Peak is at</source>
        <translation>峰值位于</translation>
    </message>
    <message>
        <source>The step that runs at the peak.</source>
        <translation>峰值时正在运行的步骤。</translation>
    </message>
    <message>
        <source>On the device at the peak</source>
        <translation>峰值时设备上的内容</translation>
    </message>
    <message>
        <source>Still searching for a faster one…</source>
        <translation>仍在寻找更快的方案…</translation>
    </message>
    <message>
        <source>&amp;Use this plan</source>
        <translation>使用此方案(&amp;U)</translation>
    </message>
    <message>
        <source>Shows it on the Plan, Timeline and Run pages.</source>
        <translation>在“方案”“时间线”“运行”页显示它。</translation>
    </message>
    <message>
        <source>&amp;Save plan…</source>
        <translation>保存方案(&amp;S)…</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1，上限 %2</translation>
    </message>
    <message>
        <source>about %1, %2</source>
        <translation>约 %1，%2</translation>
    </message>
    <message>
        <source>%1 by the profile</source>
        <translation>%1，按剖析</translation>
    </message>
    <message>
        <source> (%1 to %2)</source>
        <translation>（%1 至 %2）</translation>
    </message>
    <message>
        <source>, %1 of the batch at a time</source>
        <translation>，每次处理批次中的 %1 份</translation>
    </message>
    <message>
        <source>Does not fit %1; the smallest limit that works is %2.</source>
        <translation>%1 放不下；可行的最小上限是 %2。</translation>
    </message>
    <message>
        <source>Pass %1 (%2) determines this limit. It holds the tensors listed below.</source>
        <translation>第 %1 遍（%2）不允许更小；它占用的内容见下。</translation>
    </message>
    <message>
        <source>Does not fit %1; looking for the smallest limit…</source>
        <translation>%1 放不下；正在寻找最小上限…</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>正在搜索…</translation>
    </message>
    <message>
        <source>Us&amp;e the smallest limit, %1</source>
        <translation>使用最小上限 %1(&amp;E)</translation>
    </message>
    <message>
        <source>Untiled</source>
        <translation>不分块</translation>
    </message>
    <message>
        <source>The peak of the decode without tiles, and this plan&apos;s share of it.</source>
        <translation>不分块解码的峰值，以及此方案占它的比例。</translation>
    </message>
    <message>
        <source>%1 by diffusers, this plan takes %2</source>
        <translation>diffusers 为 %1，此方案占其 %2</translation>
    </message>
    <message>
        <source>about %1, this plan takes %2</source>
        <translation>约 %1，此方案占其 %2</translation>
    </message>
    <message>
        <source>Pass %1</source>
        <translation>遍：%1</translation>
    </message>
    <message>
        <source>Use the chosen remedy</source>
        <translation>采用所选办法</translation>
    </message>
    <message>
        <source>still above your limit</source>
        <translation>仍高于您的上限</translation>
    </message>
</context>
<context>
    <name>headroom::gui::BesideBox</name>
    <message>
        <source>Open &amp;beside</source>
        <translation>并排打开(&amp;B)</translation>
    </message>
    <message>
        <source>nothing else</source>
        <translation>无</translation>
    </message>
</context>
<context>
    <name>headroom::gui::ChartView</name>
    <message>
        <source>Chart</source>
        <translation>图表</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::ChildRun</name>
    <message>
        <source>loading weights, %1 %</source>
        <translation>正在载入权重，%1 %</translation>
    </message>
    <message>
        <source>%1 runs.</source>
        <translation>%1 正在运行。</translation>
    </message>
    <message>
        <source>Stopping %1.</source>
        <translation>已请求结束 %1。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>The system ended it (signal 9), most likely for memory.</source>
        <translation>被系统终止（信号 9），很可能是内存不足。</translation>
    </message>
    <message>
        <source>It crashed (signal %1). %2</source>
        <translation>程序崩溃（信号 %1）。%2</translation>
    </message>
    <message>
        <source>Done.</source>
        <translation>完成。</translation>
    </message>
    <message>
        <source>Done in %1, peak %2.</source>
        <translation>完成，用时 %1，峰值 %2。</translation>
    </message>
    <message>
        <source>Done in %1, peak %2 of a limit of %3.</source>
        <translation>完成，用时 %1，峰值 %2，上限 %3。</translation>
    </message>
    <message>
        <source>%1 cannot be started: %2</source>
        <translation>无法启动 %1：%2</translation>
    </message>
    <message>
        <source>It failed</source>
        <translation>运行失败</translation>
    </message>
    <message>
        <source>The input was refused</source>
        <translation>输入被拒绝</translation>
    </message>
    <message>
        <source>It does not fit</source>
        <translation>放不下</translation>
    </message>
    <message>
        <source>The page Run has no fields for these options. The page Frontier has a button for each of them; "Use this plan" there brings the plan here. On the command line, add the option to headroom-decode.</source>
        <translation>“运行”页没有这些选项的输入框。“前沿”页为每个选项提供了按钮；在那里点“使用此方案”会把方案带到这里。在命令行上，请把该选项加到 headroom-decode。</translation>
    </message>
    <message>
        <source>It was stopped at the limit</source>
        <translation>到达上限，已停止</translation>
    </message>
    <message>
        <source>The device or a library failed</source>
        <translation>设备或库出错</translation>
    </message>
    <message>
        <source>%1 (exit code %2).</source>
        <translation>%1（退出码 %2）。</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>Choose the device CPU, or a build of Headroom with CUDA on a machine with an NVIDIA GPU.</source>
        <translation>请把设备选为 CPU，或在有 NVIDIA GPU 的机器上使用带 CUDA 的 Headroom 版本。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::DecoderCanvas</name>
    <message>
        <source>on the device</source>
        <translation>在设备上</translation>
    </message>
    <message>
        <source>in host memory</source>
        <translation>在主机内存中</translation>
    </message>
    <message>
        <source>in the scratch file</source>
        <translation>在暂存文件中</translation>
    </message>
    <message>
        <source>The decoder, pass by pass</source>
        <translation>逐遍显示的解码器</translation>
    </message>
    <message>
        <source>Pass %1, %2 (%3)</source>
        <translation>第 %1 遍，%2（%3）</translation>
    </message>
    <message>
        <source>peak %1 while %2 runs, %3 predicted</source>
        <translation>峰值 %1，出现于 %2 运行时，预计用时 %3</translation>
    </message>
    <message>
        <source>It outputs the picture.</source>
        <translation>这一遍输出图像。</translation>
    </message>
    <message>
        <source>It must end here: the next operations need a whole tensor that this pass computes.</source>
        <translation>这一遍必须在此结束：之后的运算需要它产出的完整结果。</translation>
    </message>
    <message>
        <source>It ends here because the plan keeps a tensor.</source>
        <translation>这一遍在方案选择保留张量之处结束。</translation>
    </message>
    <message>
        <source>computed over all positions: a barrier; the pass must end before a step can use it</source>
        <translation>遍及所有位置：这是屏障，所在的遍结束后才能使用</translation>
    </message>
    <message>
        <source>%1, whole %2</source>
        <translation>%1，完整大小 %2</translation>
    </message>
    <message>
        <source>a barrier: it needs all keys and values from an earlier pass</source>
        <translation>屏障：需要前面某一遍产出的完整的键和值</translation>
    </message>
    <message>
        <source>recomputed: its result was not kept</source>
        <translation>再次运算：先前的结果没有保留</translation>
    </message>
    <message>
        <source>kept %1, %2, from pass %3 to pass %4</source>
        <translation>保留%1，%2，从第 %3 遍到第 %4 遍</translation>
    </message>
    <message>
        <source>%1 of it on the device at the peak</source>
        <translation>峰值时其中 %1 在设备上</translation>
    </message>
    <message>
        <source>measured: peak %1 of the decode alone, %2</source>
        <translation>实测：仅解码的峰值 %1，%2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::DecoderPage</name>
    <message>
        <source>Drawing the decoder…</source>
        <translation>正在绘制解码器…</translation>
    </message>
    <message>
        <source>Decoder</source>
        <translation>解码器</translation>
    </message>
    <message>
        <source>&amp;Go to the peak</source>
        <translation>转到峰值(&amp;G)</translation>
    </message>
    <message>
        <source>Its tiles on the page &amp;Plan</source>
        <translation>在“方案”页看它的分块(&amp;P)</translation>
    </message>
    <message>
        <source>Its figures on the page &amp;Layers</source>
        <translation>在“层”页看它的数据(&amp;L)</translation>
    </message>
    <message>
        <source>The peak is %1 of %2</source>
        <translation>峰值为 %1，上限 %2</translation>
    </message>
    <message>
        <source>The peak is %1</source>
        <translation>峰值为 %1</translation>
    </message>
    <message>
        <source>, in pass %1, %2.</source>
        <translation>，在第 %1 遍，%2。</translation>
    </message>
    <message>
        <source>%1 %2 (%3)</source>
        <translation>%1 %2（%3）</translation>
    </message>
    <message>
        <source>The largest parts: %1.</source>
        <translation>占用者：%1。</translation>
    </message>
    <message>
        <source>, </source>
        <translation>、</translation>
    </message>
    <message>
        <source>kept %1</source>
        <translation>保留%1</translation>
    </message>
    <message>
        <source>barrier: the pass must end</source>
        <translation>屏障：这一遍必须结束</translation>
    </message>
    <message>
        <source>ends to keep a tensor</source>
        <translation>为保留张量而结束</translation>
    </message>
    <message>
        <source>↻ computed once more</source>
        <translation>↻ 再次运算</translation>
    </message>
    <message>
        <source>measured peak</source>
        <translation>实测峰值</translation>
    </message>
    <message>
        <source>Open a profile: it has the figures of each layer.</source>
        <translation>请打开性能剖析文件：各层的数据在其中。</translation>
    </message>
    <message>
        <source>Choose a pass or an operation.</source>
        <translation>请选择一遍或一个运算。</translation>
    </message>
    <message>
        <source>Live at the pass&apos;s peak</source>
        <translation>该遍峰值时的占用</translation>
    </message>
    <message>
        <source>This page shows the decoder as a plan runs it: what each pass computes, what it keeps for later passes, and where the peak is. No plan is open.</source>
        <translation>此页显示方案如何运行解码器：每一遍算什么、为后面的遍保留什么、峰值在哪里。没有打开方案。</translation>
    </message>
    <message>
        <source>&amp;Plan a decode</source>
        <translation>规划解码(&amp;P)</translation>
    </message>
</context>
<context>
    <name>headroom::gui::DocumentsDock</name>
    <message>
        <source>Plans</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>Traces</source>
        <translation>跟踪</translation>
    </message>
    <message>
        <source>Profiles</source>
        <translation>剖析</translation>
    </message>
    <message>
        <source>Frontiers</source>
        <translation>前沿</translation>
    </message>
    <message>
        <source>recorded decodes</source>
        <translation>记录的解码</translation>
    </message>
    <message>
        <source>PyTorch&apos;s memory</source>
        <translation>PyTorch 的内存</translation>
    </message>
    <message>
        <source>Open files</source>
        <translation>打开的文件</translation>
    </message>
    <message>
        <source>&amp;Close file</source>
        <translation>关闭文件(&amp;C)</translation>
    </message>
    <message>
        <source>chosen</source>
        <translation>已选</translation>
    </message>
    <message>
        <source>Plans of ranks</source>
        <translation>多进程方案</translation>
    </message>
    <message>
        <source>Traces of ranks</source>
        <translation>多进程跟踪</translation>
    </message>
    <message>
        <source>Rank %1</source>
        <translation>进程 %1</translation>
    </message>
</context>
<context>
    <name>headroom::gui::FrontierPage</name>
    <message>
        <source>Planning…</source>
        <translation>正在规划…</translation>
    </message>
    <message>
        <source>Peak against time</source>
        <translation>峰值与时间</translation>
    </message>
    <message>
        <source>Peak against size</source>
        <translation>峰值与尺寸</translation>
    </message>
    <message>
        <source>nothing fits</source>
        <translation>放不下</translation>
    </message>
    <message>
        <source>limit %1</source>
        <translation>上限 %1</translation>
    </message>
    <message>
        <source>Save plan</source>
        <translation>保存方案</translation>
    </message>
    <message>
        <source>Plans (*.json)</source>
        <translation>方案 (*.json)</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>已保存 %1</translation>
    </message>
    <message>
        <source>Frontier</source>
        <translation>前沿</translation>
    </message>
    <message>
        <source>untiled %1</source>
        <translation>不分块 %1</translation>
    </message>
    <message>
        <source>untiled, about %1</source>
        <translation>不分块约 %1</translation>
    </message>
    <message>
        <source>This is an example. Choose your own model, size and device at the left.</source>
        <translation>这是一个示例。请在左侧选择您自己的模型、尺寸和设备。</translation>
    </message>
    <message>
        <source>costs learnt from decodes here, %1 those %2</source>
        <translation>从本机解码学到的代价，为%2的 %1</translation>
    </message>
    <message>
        <source>costs %1</source>
        <translation>%1的代价</translation>
    </message>
    <message>
        <source>a profile</source>
        <translation>剖析</translation>
    </message>
    <message>
        <source>Times differ by their costs. This page: %1.</source>
        <translation>时间因代价不同而不同。此页：%1。</translation>
    </message>
    <message>
        <source>%1: %2 by %3.</source>
        <translation>%1：%2，依据%3。</translation>
    </message>
    <message>
        <source>%1: by the costs when it was made.</source>
        <translation>%1：依据生成该文件时的代价。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::Glossary</name>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>The largest number of bytes in use at one time: weights, kept tensors, tiles, workspace and other memory of the process.</source>
        <translation>同一时刻占用字节数的最大值：权重、保留张量、切块、工作区以及进程的其他内存。</translation>
    </message>
    <message>
        <source>Limit</source>
        <translation>上限</translation>
    </message>
    <message>
        <source>The peak that you allow for one decode. A decode stops before it would cross the limit.</source>
        <translation>您允许一次解码占用的峰值。解码会在将要越过上限之前停止。</translation>
    </message>
    <message>
        <source>Untiled</source>
        <translation>不切块</translation>
    </message>
    <message>
        <source>The decode as diffusers and ComfyUI run it without tiling: each layer over the whole picture at once. Headroom&apos;s picture equals this one up to rounding.</source>
        <translation>diffusers 和 ComfyUI 不切块时的解码：每一层一次处理整幅图像。Headroom 的图像与之相同，只有舍入误差。</translation>
    </message>
    <message>
        <source>Latent position</source>
        <translation>潜变量位置</translation>
    </message>
    <message>
        <source>One place in a latent. In SDXL it stands for 8x8 pixels of the picture.</source>
        <translation>潜变量中的一个位置。在 SDXL 中对应图像的 8x8 个像素。</translation>
    </message>
    <message>
        <source>Moments</source>
        <translation>矩</translation>
    </message>
    <message>
        <source>The output of an encoder: a mean and a spread for each value of the latent. The mean is also called the mode.</source>
        <translation>编码器的输出：潜变量每个数值的均值和离散程度。均值也称为众数（mode）。</translation>
    </message>
    <message>
        <source>PSNR</source>
        <translation>PSNR</translation>
    </message>
    <message>
        <source>How close two pictures are, in dB. A higher value is closer.</source>
        <translation>两幅图像的接近程度，单位为 dB。数值越高越接近。</translation>
    </message>
    <message>
        <source>dtype</source>
        <translation>dtype</translation>
    </message>
    <message>
        <source>The type of stored numbers: fp32 has 32 bits, bf16 and fp16 have 16 bits.</source>
        <translation>存储数值的类型：fp32 为 32 位，bf16 和 fp16 为 16 位。</translation>
    </message>
    <message>
        <source>GroupNorm</source>
        <translation>GroupNorm</translation>
    </message>
    <message>
        <source>A layer that shifts and scales groups of channels by their mean and deviation over the whole picture.</source>
        <translation>用整幅图像上的均值和标准差对各组通道进行平移和缩放的层。</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>统计量</translation>
    </message>
    <message>
        <source>The mean and variance of each group of channels that a GroupNorm needs.</source>
        <translation>GroupNorm 所需的各组通道的均值和方差。</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>The way in which one decode runs under a limit: its passes, its tiles, and the tensors that it keeps and where. A plan also states the predicted peak and time.</source>
        <translation>一次解码在上限之下的运行方式：分哪些遍，怎样切块，保留哪些张量、放在何处。方案还给出预测的峰值和时间。</translation>
    </message>
    <message>
        <source>Remedy</source>
        <translation>补救办法</translation>
    </message>
    <message>
        <source>A change with which a decode fits a limit, such as 16 bits or a scratch file.</source>
        <translation>使解码能放进上限的改动，例如使用 16 位或暂存文件。</translation>
    </message>
    <message>
        <source>Barrier</source>
        <translation>屏障</translation>
    </message>
    <message>
        <source>An input that must be complete over the whole picture before an operation can go on: the input of GroupNorm&apos;s statistics, the keys and values of attention. Between two barriers a tile gives exactly the untiled values.</source>
        <translation>运算继续之前必须在整幅图像上完整的输入：GroupNorm 统计量的输入，注意力的键和值。两个屏障之间，切块得到的数值与不切块时完全相同。</translation>
    </message>
    <message>
        <source>Cut point</source>
        <translation>切分点</translation>
    </message>
    <message>
        <source>A tensor between two layers where a pass may end although no barrier requires it. If the pass ends there, the plan keeps the tensor.</source>
        <translation>两层之间的张量：即使没有屏障要求，一遍也可以在此结束。若在此结束，方案就保留该张量。</translation>
    </message>
    <message>
        <source>Pass</source>
        <translation>遍</translation>
    </message>
    <message>
        <source>One sweep of tiles over the picture. It ends at a barrier, at a kept tensor or at the output.</source>
        <translation>切块扫过整幅图像一次，到屏障、保留张量或输出为止。</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步骤</translation>
    </message>
    <message>
        <source>One operation of a pass on one tile, such as a convolution or a norm.</source>
        <translation>一遍中对一个切块进行的一次运算，例如卷积或归一化。</translation>
    </message>
    <message>
        <source>Tile</source>
        <translation>切块</translation>
    </message>
    <message>
        <source>A part of the picture that runs through all steps of a pass at once.</source>
        <translation>图像的一部分，一次走完一遍中的所有步骤。</translation>
    </message>
    <message>
        <source>Band</source>
        <translation>条带</translation>
    </message>
    <message>
        <source>All tiles of a pass that cover the same rows.</source>
        <translation>一遍中覆盖相同行的所有切块。</translation>
    </message>
    <message>
        <source>Chunk</source>
        <translation>帧段</translation>
    </message>
    <message>
        <source>The frames of a tile that the decoder computes together. A tile goes through all of its chunks before the next tile begins.</source>
        <translation>切块中一起计算的若干帧。一个切块处理完自己的所有帧段，下一个切块才开始。</translation>
    </message>
    <message>
        <source>Halo</source>
        <translation>边缘</translation>
    </message>
    <message>
        <source>The rows and columns around a tile that its convolutions read. Neighbouring tiles compute them again, or carry them.</source>
        <translation>切块周围供卷积读取的行和列。相邻切块重新计算它们，或者沿用它们。</translation>
    </message>
    <message>
        <source>Carried</source>
        <translation>沿用</translation>
    </message>
    <message>
        <source>Rows or frames that a tile copies from the tile or chunk before it instead of computing them again.</source>
        <translation>切块从前一个切块或帧段复制、而不重新计算的行或帧。</translation>
    </message>
    <message>
        <source>Kept tensor</source>
        <translation>保留张量</translation>
    </message>
    <message>
        <source>A tensor that the decoder stores whole between passes: on the device, in host memory or in a scratch file. Passes recompute all other tensors when they need them.</source>
        <translation>各遍之间完整保存的张量：在设备上、主机内存中或暂存文件里。其他张量由需要它们的各遍重新计算。</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>块</translation>
    </message>
    <message>
        <source>Some rows of a kept tensor. The decoder allocates and frees blocks one by one.</source>
        <translation>保留张量的若干行。解码器逐块分配和释放。</translation>
    </message>
    <message>
        <source>Memory tier</source>
        <translation>内存层级</translation>
    </message>
    <message>
        <source>A place for kept tensors: the device, host memory or a scratch file.</source>
        <translation>存放保留张量的地方：设备、主机内存或暂存文件。</translation>
    </message>
    <message>
        <source>Scratch file</source>
        <translation>暂存文件</translation>
    </message>
    <message>
        <source>A file on a disk for kept tensors. Only decodes on the CPU use it.</source>
        <translation>磁盘上存放保留张量的文件，仅供 CPU 上的解码使用。</translation>
    </message>
    <message>
        <source>Host memory, pinned</source>
        <translation>主机内存、锁页</translation>
    </message>
    <message>
        <source>The main memory beside a GPU. A GPU copies faster from pinned memory, which the system never moves to a disk.</source>
        <translation>GPU 之外的主内存。锁页内存不会被系统移到磁盘，GPU 与其之间的复制更快。</translation>
    </message>
    <message>
        <source>Packed weights</source>
        <translation>打包的权重</translation>
    </message>
    <message>
        <source>The decoder&apos;s weights in the order and dtype in which Headroom computes with them. They are a copy of the VAE&apos;s weights.</source>
        <translation>按 Headroom 计算所用的顺序和 dtype 排列的解码器权重，是 VAE 权重的副本。</translation>
    </message>
    <message>
        <source>Pool, reservation</source>
        <translation>内存池、预留区</translation>
    </message>
    <message>
        <source>The memory for a decode&apos;s weights, tensors and workspace. A decode on a GPU reserves all of it before it begins. On the CPU the pool takes memory when needed and refuses to exceed the limit.</source>
        <translation>用于解码的权重、张量和工作区的内存。GPU 上的解码在开始之前全部预留。在 CPU 上，内存池按需取用，并拒绝超出上限。</translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>Memory that a step takes while it runs, besides its inputs and outputs.</source>
        <translation>步骤运行期间，在其输入和输出之外占用的内存。</translation>
    </message>
    <message>
        <source>Other process memory, reserve</source>
        <translation>进程其他内存、预留</translation>
    </message>
    <message>
        <source>Memory that the process takes outside of the decode&apos;s own allocations: stacks, compiled kernels, small objects. A plan reserves bytes for it.</source>
        <translation>进程在解码自身的分配之外占用的内存：栈、编译的内核、小对象。方案为此预留字节。</translation>
    </message>
    <message>
        <source>Resident growth</source>
        <translation>常驻增长</translation>
    </message>
    <message>
        <source>The main memory by which the process grew during the decode, as Linux counts it.</source>
        <translation>解码期间进程占用的主内存的增长，由 Linux 统计。</translation>
    </message>
    <message>
        <source>Control group</source>
        <translation>控制组</translation>
    </message>
    <message>
        <source>A limit that Linux sets for the memory of a container, service or batch job.</source>
        <translation>Linux 为容器、服务或批处理作业设定的内存限制。</translation>
    </message>
    <message>
        <source>Gaps, slack</source>
        <translation>空隙、空闲预留</translation>
    </message>
    <message>
        <source>Bytes of a GPU&apos;s reservation that nothing uses at the moment. Gaps are those that a plan leaves between its allocations.</source>
        <translation>GPU 预留区中此刻无人使用的字节。空隙是方案在各分配之间留下的部分。</translation>
    </message>
    <message>
        <source>Libraries</source>
        <translation>库</translation>
    </message>
    <message>
        <source>Bytes that libraries take from the GPU&apos;s driver themselves. Only the driver sees them.</source>
        <translation>库自行向 GPU 驱动申请的字节，只有驱动能看到。</translation>
    </message>
    <message>
        <source>Context and modules</source>
        <translation>上下文与模块</translation>
    </message>
    <message>
        <source>The rest of the GPU&apos;s memory that the driver counts: the CUDA context, the kernels&apos; code, the driver&apos;s own buffers.</source>
        <translation>除上述之外驱动统计的 GPU 内存：CUDA 上下文、核函数代码、驱动自身的缓冲区。</translation>
    </message>
    <message>
        <source>Compute capability</source>
        <translation>计算能力</translation>
    </message>
    <message>
        <source>NVIDIA&apos;s version number for the abilities of a GPU, such as 8.0 for an A100, 8.6 for an RTX 3090 and 9.0 for an H100.</source>
        <translation>NVIDIA 表示 GPU 能力的版本号，例如 A100 为 8.0，RTX 3090 为 8.6，H100 为 9.0。</translation>
    </message>
    <message>
        <source>Live set</source>
        <translation>在用内容</translation>
    </message>
    <message>
        <source>Everything that is on the device at one moment.</source>
        <translation>某一时刻设备上的全部内容。</translation>
    </message>
    <message>
        <source>Micro-batch</source>
        <translation>微批</translation>
    </message>
    <message>
        <source>The pictures of a batch that go through all passes together.</source>
        <translation>一批中一起走完所有遍的图像。</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>进程序号</translation>
    </message>
    <message>
        <source>One of several processes that decode one picture together. Each rank decodes its own rows.</source>
        <translation>共同解码一幅图像的多个进程之一。每个进程解码自己的行。</translation>
    </message>
    <message>
        <source>Winograd</source>
        <translation>Winograd</translation>
    </message>
    <message>
        <source>A way to compute 3x3 convolutions with fewer multiplications. It rounds differently from the direct way.</source>
        <translation>用较少乘法计算 3x3 卷积的方法。其舍入与直接方法不同。</translation>
    </message>
    <message>
        <source>Frontier</source>
        <translation>前沿</translation>
    </message>
    <message>
        <source>The fastest plan under each limit. It shows the time that a smaller peak costs, and the limit above which more memory gains nothing.</source>
        <translation>每个上限下的最快方案：峰值更小要多花多少时间，上限高到何处便无益。</translation>
    </message>
    <message>
        <source>Optimal, bound</source>
        <translation>最优、界</translation>
    </message>
    <message>
        <source>A plan is optimal if the search proves that no other plan is faster. Otherwise the bound says how much faster another plan could be at most.</source>
        <translation>若搜索证明没有更快的方案，该方案即为最优；否则界说明其他方案至多还能快多少。</translation>
    </message>
    <message>
        <source>Assumed costs</source>
        <translation>假定代价</translation>
    </message>
    <message>
        <source>The speed that the planner assumes without a profile: two CPU cores with AVX-512, or an H100. Times on another machine can be off by a factor of 2 to 3.</source>
        <translation>没有剖析时规划器假定的速度：两个支持 AVX-512 的 CPU 核，或一块 H100。在其他机器上，时间可能相差 2 到 3 倍。</translation>
    </message>
    <message>
        <source>Profile, latency table</source>
        <translation>剖析、时延表</translation>
    </message>
    <message>
        <source>The measured times of layers on this machine. A latency table gives the time of one kind of call for any tile.</source>
        <translation>各层在本机上测得的时间。时延表给出某类调用在任意切块下的时间。</translation>
    </message>
    <message>
        <source>Trace</source>
        <translation>跟踪</translation>
    </message>
    <message>
        <source>A file with the allocations, passes and steps of one decode, and their times.</source>
        <translation>记录一次解码的各次分配、各遍、各步骤及其时间的文件。</translation>
    </message>
    <message>
        <source>GiB, MiB, KiB</source>
        <translation>GiB、MiB、KiB</translation>
    </message>
    <message>
        <source>1024 MiB, 1024 KiB, 1024 bytes.</source>
        <translation>1024 MiB、1024 KiB、1024 字节。</translation>
    </message>
    <message>
        <source>&amp;Close</source>
        <translation>关闭(&amp;C)</translation>
    </message>
    <message>
        <source>Exact VAE decoding inside a byte budget: the pixels of the untiled decode, the peak known before the run.</source>
        <translation>在字节预算之内精确进行 VAE 解码：像素与不切块解码相同，运行之前就知道峰值。</translation>
    </message>
    <message>
        <source>Headroom&apos;s sources are under the Apache License 2.0.</source>
        <translation>Headroom 的源代码采用 Apache License 2.0。</translation>
    </message>
    <message>
        <source>Plots are drawn by QCustomPlot 2.1 by Emanuel Eichhammer, which is under the GNU General Public License 3 or later. This program is linked with it and is therefore under the same terms; Headroom&apos;s libraries and other programs are not linked with it.</source>
        <translation>图表由 Emanuel Eichhammer 的 QCustomPlot 2.1 绘制，其许可为 GNU 通用公共许可证第 3 版或更新版本。本程序与其链接，因此适用同样的条款；Headroom 的库和其他程序不与其链接。</translation>
    </message>
    <message>
        <source>Windows are made with Qt 6, under the GNU Lesser General Public License 3. JSON files are read with nlohmann/json and command lines with CLI11, under the MIT and the BSD licence.</source>
        <translation>窗口采用 Qt 6，其许可为 GNU 宽通用公共许可证第 3 版。JSON 文件用 nlohmann/json 读取，命令行用 CLI11 解析，许可分别为 MIT 和 BSD。</translation>
    </message>
    <message>
        <source>What the words mean</source>
        <translation>术语解释</translation>
    </message>
    <message>
        <source>About Headroom</source>
        <translation>关于 Headroom</translation>
    </message>
</context>
<context>
    <name>headroom::gui::GridView</name>
    <message>
        <source>done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>current tile</source>
        <translation>当前切块</translation>
    </message>
    <message>
        <source>its halo</source>
        <translation>其边缘</translation>
    </message>
    <message>
        <source>Tile</source>
        <translation>切块</translation>
    </message>
    <message>
        <source>The selected tile. The arrow keys select the previous or next one.</source>
        <translation>正在查看的切块；方向键移动一个。</translation>
    </message>
    <message>
        <source>Tile %1 of %2: rows %3 to %4, columns %5 to %6; with its halo %7 % more positions.</source>
        <translation>第 %1 / %2 个切块：行 %3 至 %4，列 %5 至 %6；含边缘则位置多 %7 %。</translation>
    </message>
    <message>
        <source>Its frames come in %1 chunks, %2 at a time.</source>
        <translation>帧分 %1 段处理，每次 %2 帧。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::HistoryPage</name>
    <message>
        <source>PyTorch memory</source>
        <translation>PyTorch 内存</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>What Headroom would need</source>
        <translation>Headroom 所需</translation>
    </message>
    <message>
        <source>A click holds the cursor, another lets it go. Wheel: zoom, drag: pan, double click: all.</source>
        <translation>单击固定光标，再单击放开。滚轮：缩放；拖动：平移；双击：全部。</translation>
    </message>
    <message>
        <source>&amp;Go to the peak</source>
        <translation>到峰值(&amp;G)</translation>
    </message>
    <message>
        <source>Go to the &amp;last request</source>
        <translation>到最后的请求(&amp;L)</translation>
    </message>
    <message>
        <source>Live by module</source>
        <translation>按模块的存活内存</translation>
    </message>
    <message>
        <source>Live tensors</source>
        <translation>存活张量</translation>
    </message>
    <message>
        <source>What Headroom needs</source>
        <translation>Headroom 所需</translation>
    </message>
    <message>
        <source>Searching plans…</source>
        <translation>正在搜索方案…</translation>
    </message>
    <message>
        <source>Choose the decoder and the size of the picture.</source>
        <translation>请选择解码器和图像尺寸。</translation>
    </message>
    <message>
        <source>at record %1</source>
        <translation>第 %1 条记录处</translation>
    </message>
    <message>
        <source>after %1</source>
        <translation>%1 后</translation>
    </message>
    <message>
        <source>Live %1: %2</source>
        <translation>%1的存活内存：%2</translation>
    </message>
    <message>
        <source>Whole stack of the chosen row</source>
        <translation>所选行的完整调用栈</translation>
    </message>
    <message>
        <source>Click a row to see its whole stack, the innermost call first.</source>
        <translation>单击一行可查看其完整调用栈，最内层的调用在前。</translation>
    </message>
    <message>
        <source>No stack was recorded for these tensors.</source>
        <translation>这些张量没有记录调用栈。</translation>
    </message>
    <message>
        <source>This is the decode of the open plan %1. If the recording is of another decode, choose its model and size below.</source>
        <translation>这是已打开的方案 %1 的解码。如果记录的是另一次解码，请在下面选择其模型和尺寸。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::LayersPage</name>
    <message>
        <source>%1 in %2, profiled on %3 with %4. Layers that make a peak stand out; choose one to see its latency table.</source>
        <translation>%1，%2，在 %3 上以 %4 剖析。造成峰值的层以粗体突出；选择一层查看其时延表。</translation>
    </message>
    <message>
        <source>%1 in %2, PyTorch's decode, recorded on %3 with %4. Layers that ran at a peak stand out.</source>
        <translation>%1，%2，自身的解码，在 %3 上以 %4 记录。峰值时运行的层以粗体突出。</translation>
    </message>
    <message>
        <source>This layer has no latency table: it moves nothing.</source>
        <translation>该层没有时延表：不搬动数据。</translation>
    </message>
    <message>
        <source>Choose a layer to see how its time grows with the tile.</source>
        <translation>选择一层，查看其时间如何随切块增长。</translation>
    </message>
    <message>
        <source>%1: time of one call against the positions of its tile.</source>
        <translation>%1：单次调用时间与切块位置数的关系。</translation>
    </message>
    <message>
        <source>Its error is %1 at %2 measured tiles that it does not contain.</source>
        <translation>在 %2 个未用于拟合的实测切块上偏差 %1。</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>层</translation>
    </message>
    <message>
        <source>Live at the peak</source>
        <translation>峰值时在用</translation>
    </message>
    <message>
        <source>Latency table of the layer, or memory over time</source>
        <translation>该层的延迟表，或随时间的内存</translation>
    </message>
    <message>
        <source>Live memory over time, %1.</source>
        <translation>随时间的存活内存，%1。</translation>
    </message>
    <message>
        <source>Live memory over time</source>
        <translation>随时间的存活内存</translation>
    </message>
    <message>
        <source>Latency table</source>
        <translation>延迟表</translation>
    </message>
    <message>
        <source>This page shows the memory and time of each layer. No profile and no recording is open. Measure the layers on the page Run, or with headroom-profile --model sdxl --sizes 256x256,512x512 -o profile.json.</source>
        <translation>此页显示各层的内存和时间。没有打开剖析或记录。请在“运行”页测量各层，或使用 headroom-profile --model sdxl --sizes 256x256,512x512 -o profile.json。</translation>
    </message>
    <message>
        <source>&amp;Measure layers</source>
        <translation>测量各层(&amp;M)</translation>
    </message>
    <message>
        <source>Si&amp;ze</source>
        <translation>尺寸(&amp;Z)</translation>
    </message>
    <message>
        <source>Live at the peak: %1, while %2 ran.</source>
        <translation>峰值时在用：%1，当时运行 %2。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::LimitField</name>
    <message>
        <source>The most device memory that a decode may take at any moment, weights included: 1.2GiB, 800MiB, or bytes.</source>
        <translation>解码在任一时刻至多可占用的设备内存，包括权重：1.2GiB、800MiB 或字节数。</translation>
    </message>
    <message>
        <source>&amp;Limit</source>
        <translation>上限(&amp;L)</translation>
    </message>
    <message>
        <source>Limit</source>
        <translation>上限</translation>
    </message>
</context>
<context>
    <name>headroom::gui::LiveBox</name>
    <message>
        <source>What is shown</source>
        <translation>显示的内容</translation>
    </message>
    <message>
        <source>On the device at the cursor</source>
        <translation>光标处设备上的内容</translation>
    </message>
    <message>
        <source>%1, live set</source>
        <translation>%1，在用内容</translation>
    </message>
</context>
<context>
    <name>headroom::gui::MainWindow</name>
    <message>
        <source>The language changes when the window is opened again.</source>
        <translation>语言在下次打开窗口时更换。</translation>
    </message>
    <message>
        <source>The profile has no layer %1.</source>
        <translation>性能剖析文件中没有层 %1。</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>打开(&amp;O)…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>最近打开(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Export view</source>
        <translation>导出视图(&amp;E)</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Ctrl+E</translation>
    </message>
    <message>
        <source>&amp;Close file</source>
        <translation>关闭文件(&amp;C)</translation>
    </message>
    <message>
        <source>Close &amp;all files</source>
        <translation>关闭所有文件(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;System</source>
        <translation>跟随系统(&amp;S)</translation>
    </message>
    <message>
        <source>L&amp;anguage</source>
        <translation>语言(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;What the words mean</source>
        <translation>术语解释(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;About Headroom</source>
        <translation>关于 Headroom(&amp;A)</translation>
    </message>
    <message>
        <source>None yet</source>
        <translation>暂无</translation>
    </message>
    <message>
        <source>%1 (%2)…</source>
        <translation>%1（%2）…</translation>
    </message>
    <message>
        <source>Nothing on this page yet</source>
        <translation>此页尚无内容</translation>
    </message>
    <message>
        <source>Export %1</source>
        <translation>导出 %1</translation>
    </message>
    <message>
        <source>Written: %1</source>
        <translation>已写入：%1</translation>
    </message>
    <message>
        <source>%1 – Headroom</source>
        <translation>%1 – Headroom</translation>
    </message>
    <message>
        <source>Open files</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Headroom&apos;s files and PyTorch&apos;s memory (*.json *.pickle *.pkl)</source>
        <translation>Headroom 的文件与 PyTorch 的内存记录 (*.json *.pickle *.pkl)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>所有文件 (*)</translation>
    </message>
    <message>
        <source>Folder of the model of %1</source>
        <translation>%1 的模型所在的文件夹</translation>
    </message>
</context>
<context>
    <name>headroom::gui::MemoryMapBox</name>
    <message>
        <source>Open a trace to see where everything lay in memory. The page Run and headroom-decode --trace record one.</source>
        <translation>打开轨迹可查看一切在内存中的位置。“运行”页和 headroom-decode --trace 会记录轨迹。</translation>
    </message>
    <message>
        <source>Memory map</source>
        <translation>内存图</translation>
    </message>
    <message>
        <source>&amp;Go to the peak</source>
        <translation>转到峰值(&amp;G)</translation>
    </message>
    <message>
        <source>This trace has no addresses.</source>
        <translation>此跟踪没有地址。</translation>
    </message>
    <message>
        <source>Addresses of %1 were in use; at most %2 of them were live at one time. The gaps are addresses without memory: the pool returns free pages or gives them to the next tile.</source>
        <translation>用到的地址共 %1，同时在用的至多 %2。其间的空隙是没有内存的地址：内存池把空闲页归还系统，或留给下一个切块。</translation>
    </message>
    <message>
        <source>The reservation is %1; at most %2 of it are live at one time. The rest, %3, is gaps between allocations that are live together.</source>
        <translation>预留内存为 %1，同时占用的最多为 %2。此时空闲的 %3 是并列各项之间的空隙。</translation>
    </message>
    <message>
        <source>At %1: %2 live. A click holds the cursor, another lets it go; wheel: zoom, drag: pan, double click: all.</source>
        <translation>%1 时占用 %2。单击固定光标，再次单击松开；滚轮：缩放，拖动：平移，双击：全部。</translation>
    </message>
    <message>
        <source>Places</source>
        <translation>位置</translation>
    </message>
    <message>
        <source>%1: %2, from %3 on</source>
        <translation>%1：%2，起于 %3</translation>
    </message>
    <message>
        <source>from %1 to %2</source>
        <translation>从 %1 到 %2</translation>
    </message>
    <message>
        <source>allocated in pass %1, %2</source>
        <translation>由第 %1 遍请求，%2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::MessageBar</name>
    <message>
        <source>Fault</source>
        <translation>错误</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>忽略</translation>
    </message>
    <message>
        <source>Choose the model&apos;s folder…</source>
        <translation>选择模型的文件夹…</translation>
    </message>
</context>
<context>
    <name>headroom::gui::PassTree</name>
    <message>
        <source>, rows before row %1</source>
        <translation>，在第 %1 行以上</translation>
    </message>
    <message>
        <source>read %1</source>
        <translation>读取 %1</translation>
    </message>
    <message>
        <source> from %1, %2 at a time</source>
        <translation>，来自%1，每次 %2</translation>
    </message>
    <message>
        <source>%1 (for the last time)</source>
        <translation>%1（最后一次）</translation>
    </message>
    <message>
        <source>keep %1, %2</source>
        <translation>保留 %1，%2</translation>
    </message>
    <message>
        <source> on the device</source>
        <translation>，在设备上</translation>
    </message>
    <message>
        <source> in %1, at most %2 of it on the device</source>
        <translation>，在%1中，设备上至多 %2</translation>
    </message>
    <message>
        <source>, until pass %1</source>
        <translation>，直到第 %1 遍</translation>
    </message>
    <message>
        <source>, in place of %1</source>
        <translation>，取代 %1</translation>
    </message>
    <message>
        <source>weights %1</source>
        <translation>权重 %1</translation>
    </message>
    <message>
        <source>, kernels in Winograd form</source>
        <translation>，卷积核为 Winograd 形式</translation>
    </message>
    <message>
        <source>, but for %1</source>
        <translation>，%1 除外</translation>
    </message>
    <message>
        <source>The highest of all passes: it decides the peak.</source>
        <translation>各遍中最高的：它决定峰值。</translation>
    </message>
    <message>
        <source>%1 ◀</source>
        <translation>%1 ◀</translation>
    </message>
    <message>
        <source>Pass</source>
        <translation>遍</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
</context>
<context>
    <name>headroom::gui::PlanPage</name>
    <message>
        <source>Beside %1: %2</source>
        <translation>对照 %1：%2</translation>
    </message>
    <message>
        <source>Picture: compared with the untiled decode. Values differ by at most %1 of the largest value.</source>
        <translation>图像：已与不分块的解码比较，数值之差至多为最大值的 %1。</translation>
    </message>
    <message>
        <source>Picture: compared with another plan&apos;s decode. Values differ by at most %1 of the largest value.</source>
        <translation>图像：已与另一方案的解码比较，数值之差至多为最大值的 %1。</translation>
    </message>
    <message>
        <source>Picture: differs from the untiled one. The plan is approximate.</source>
        <translation>图像：与不分块的结果不同，此方案是近似的。</translation>
    </message>
    <message>
        <source>Picture: the same as without tiles, by construction. A run with --verify checks it.</source>
        <translation>图像：从构造上与不分块的结果相同。带 --verify 的运行会加以检查。</translation>
    </message>
    <message>
        <source>Picture: the same as without tiles, by construction, except for rounding in %1. A run with --verify checks it.</source>
        <translation>图像：从构造上与不分块的结果相同，只差 %1 的舍入。带 --verify 的运行会加以检查。</translation>
    </message>
    <message>
        <source>Passes</source>
        <translation>各遍</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>Run %1: measured peak %2, time %3.</source>
        <translation>运行 %1：实测峰值 %2，用时 %3。</translation>
    </message>
    <message>
        <source>Run %1: measured peak %2, time %3. The peak has %4 of the decode and %5 of other process memory. The measured peaks of passes are of the decode alone.</source>
        <translation>运行 %1：实测峰值 %2，用时 %3。峰值中解码占 %4，进程其他内存占 %5。各遍的实测峰值仅含解码。</translation>
    </message>
    <message>
        <source>This page shows a plan: its passes, their tiles, and the tensors that it keeps between passes. No plan is open.</source>
        <translation>此页显示方案：各遍、其切块，以及遍与遍之间保留的张量。没有打开方案。</translation>
    </message>
    <message>
        <source>&amp;Plan a decode</source>
        <translation>规划解码(&amp;P)</translation>
    </message>
    <message>
        <source>What would lower the peak</source>
        <translation>什么能降低峰值</translation>
    </message>
    <message>
        <source>Kept tensors</source>
        <translation>保留张量</translation>
    </message>
    <message>
        <source>Model: %1</source>
        <translation>模型：%1</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RequestForm</name>
    <message>
        <source>whichever is faster</source>
        <translation>取较快者</translation>
    </message>
    <message>
        <source>on the device throughout</source>
        <translation>始终在设备上</translation>
    </message>
    <message>
        <source>loaded pass by pass</source>
        <translation>逐遍载入</translation>
    </message>
    <message>
        <source>Thri&amp;ft</source>
        <translation>节省内存(&amp;F)</translation>
    </message>
    <message>
        <source>Share of time to give for memory: of the plans that take at most this much longer than the fastest, the planner takes a small one. 0: the fastest plan.</source>
        <translation>为节省内存可付出的时间比例：在最多比最快计划慢这么多的计划中，规划器取占用较小的一个。0：最快的计划。</translation>
    </message>
    <message>
        <source>Folder of a model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <source>The VAE: a built-in name, or a folder in diffusers&apos; layout with config.json. Planning needs no weights.</source>
        <translation>VAE：内置名称，或 diffusers 布局、含 config.json 的文件夹。规划不需要权重。</translation>
    </message>
    <message>
        <source>Dir&amp;ection</source>
        <translation>方向(&amp;E)</translation>
    </message>
    <message>
        <source>decode: latent to picture</source>
        <translation>解码：潜变量到图像</translation>
    </message>
    <message>
        <source>encode: picture to latent</source>
        <translation>编码：图像到潜变量</translation>
    </message>
    <message>
        <source>A decode makes a picture or clip from a latent. An encode makes the latent of a picture or clip.</source>
        <translation>解码由潜变量生成图像或视频。编码生成图像或视频的潜变量。</translation>
    </message>
    <message>
        <source>Si&amp;ze in pixels</source>
        <translation>像素尺寸(&amp;Z)</translation>
    </message>
    <message>
        <source>Width × height of the picture, multiples of the factor between latent and picture.</source>
        <translation>图像的宽 × 高，须为潜变量与图像之间倍数的整数倍。</translation>
    </message>
    <message>
        <source>Width in pixels</source>
        <translation>宽（像素）</translation>
    </message>
    <message>
        <source>Height in pixels</source>
        <translation>高（像素）</translation>
    </message>
    <message>
        <source>F&amp;rames</source>
        <translation>帧数(&amp;R)</translation>
    </message>
    <message>
        <source>Frames of a clip; 1 for pictures.</source>
        <translation>视频的帧数；图像为 1。</translation>
    </message>
    <message>
        <source>&amp;Batch</source>
        <translation>批次(&amp;B)</translation>
    </message>
    <message>
        <source>Pictures in one latent: a plan runs them together or one after another, whichever fits and is faster.</source>
        <translation>一个潜变量中的图像数：方案一起或逐个处理，取放得下且较快者。</translation>
    </message>
    <message>
        <source>Dt&amp;ype</source>
        <translation>数据类型(&amp;Y)</translation>
    </message>
    <message>
        <source>Data type of kept tensors. 16 bits take half the memory of fp32.</source>
        <translation>遍与遍之间保留张量的存储类型：16 位占 fp32 一半的内存。</translation>
    </message>
    <message>
        <source>TF3&amp;2</source>
        <translation>TF32(&amp;2)</translation>
    </message>
    <message>
        <source>Work in fp32 on a GPU that may round its inputs to 10 bits of mantissa. It takes less time. Its largest error with SDXL was 0.3 % of the largest value. PyTorch rounds in convolutions by default.</source>
        <translation>GPU 上以 fp32 进行的、可将输入舍入到 10 位尾数的运算。用时更少。SDXL 的最大误差为最大值的 0.3 %。PyTorch 默认在卷积中舍入。</translation>
    </message>
    <message>
        <source>off: full fp32</source>
        <translation>关闭：完整 fp32</translation>
    </message>
    <message>
        <source>in convolutions</source>
        <translation>卷积</translation>
    </message>
    <message>
        <source>in matrix products</source>
        <translation>矩阵乘法</translation>
    </message>
    <message>
        <source>in convolutions and matrix products</source>
        <translation>卷积和矩阵乘法</translation>
    </message>
    <message>
        <source>&amp;Weights</source>
        <translation>权重(&amp;W)</translation>
    </message>
    <message>
        <source>When the model&apos;s parameters are on the device: all of them throughout, or only those of the pass that runs, which takes less memory and some time for bringing them in.</source>
        <translation>模型参数何时在设备上：全部始终驻留，或只载入当前一遍所需的，后者占用内存更少，但载入要花时间。</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Hos&amp;t memory</source>
        <translation>主机内存(&amp;T)</translation>
    </message>
    <message>
        <source>Host memory that kept tensors may use, so that fewer of them are on the GPU: 8GiB.</source>
        <translation>保留张量可占用的主机内存，使 GPU 上的保留张量更少：8GiB。</translation>
    </message>
    <message>
        <source>Folder for a scratch file</source>
        <translation>暂存文件的文件夹</translation>
    </message>
    <message>
        <source>Scratch f&amp;older</source>
        <translation>暂存文件夹(&amp;O)</translation>
    </message>
    <message>
        <source>A folder on a disk, where kept tensors may live in a file: less memory, and time for moving them.</source>
        <translation>磁盘上的文件夹，保留张量可存入其中的文件：内存更少，但搬移要花时间。</translation>
    </message>
    <message>
        <source>the free space there</source>
        <translation>该处的可用空间</translation>
    </message>
    <message>
        <source>Scratch l&amp;imit</source>
        <translation>暂存上限(&amp;I)</translation>
    </message>
    <message>
        <source>The largest that the scratch file may get.</source>
        <translation>暂存文件的最大大小。</translation>
    </message>
    <message>
        <source>&amp;Costs</source>
        <translation>代价(&amp;C)</translation>
    </message>
    <message>
        <source>Source of the layers' times. Without an open profile of your machine, the planner assumes the costs of another one.</source>
        <translation>各层时间的来源。若没有打开本机的剖析，规划器就假定另一台机器的代价。</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>assumed for 2 CPU cores</source>
        <translation>按 2 个 CPU 核心假定</translation>
    </message>
    <message>
        <source>decodes in %1: the model&apos;s config.json has force_upcast</source>
        <translation>以 %1 解码：模型的 config.json 含 force_upcast</translation>
    </message>
    <message>
        <source>plans are for another machine: %1</source>
        <translation>方案用于另一台机器：%1</translation>
    </message>
    <message>
        <source>expected a scratch folder as well</source>
        <translation>还需要暂存文件夹</translation>
    </message>
    <message>
        <source>expected a folder that exists</source>
        <translation>需要已存在的文件夹</translation>
    </message>
    <message>
        <source>assumed for an H100 GPU</source>
        <translation>按 H100 GPU 假定</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>NVIDIA GPU</source>
        <translation>NVIDIA GPU</translation>
    </message>
    <message>
        <source>&amp;Device</source>
        <translation>设备(&amp;D)</translation>
    </message>
    <message>
        <source>The device that the plan is for. You can plan for a GPU on a machine without one.</source>
        <translation>方案所针对的设备。没有 GPU 的机器也可以为 GPU 规划。</translation>
    </message>
    <message>
        <source>All fields</source>
        <translation>全部字段</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RunCheck</name>
    <message>
        <source>A folder with config.json, or a built-in name.</source>
        <translation>含 config.json 的文件夹，或内置名称。</translation>
    </message>
    <message>
        <source>A whole number of at least 0.</source>
        <translation>不小于 0 的整数。</translation>
    </message>
    <message>
        <source>There is no such folder.</source>
        <translation>没有这个文件夹。</translation>
    </message>
    <message>
        <source>A built-in model has no weights of its own: choose a folder or random weights.</source>
        <translation>内置模型不带权重：请给出文件夹或使用随机权重。</translation>
    </message>
    <message>
        <source>There is no such file.</source>
        <translation>没有这个文件。</translation>
    </message>
    <message>
        <source>No such plan is open: open one, or give a limit.</source>
        <translation>没有打开这样的方案：请打开一个，或给出上限。</translation>
    </message>
    <message>
        <source>There is no such file or folder.</source>
        <translation>没有这样的文件或文件夹。</translation>
    </message>
    <message>
        <source>A file in one of these formats: %1.</source>
        <translation>以下格式之一的文件：%1。</translation>
    </message>
    <message>
        <source>Its folder does not exist.</source>
        <translation>其文件夹不存在。</translation>
    </message>
    <message>
        <source>A file in .npy, .safetensors, .pt or .latent.</source>
        <translation>应为 .npy、.safetensors、.pt 或 .latent 文件。</translation>
    </message>
    <message>
        <source>Bytes such as 1.2GiB, or auto.</source>
        <translation>字节数，如 1.2GiB，或 auto。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RunForm</name>
    <message>
        <source>%1: %2×%3</source>
        <translation>%1：%2×%3</translation>
    </message>
    <message>
        <source>Decode a late&amp;nt</source>
        <translation>解码潜变量(&amp;N)</translation>
    </message>
    <message>
        <source>Runs headroom-decode: the latent becomes a picture inside the limit.</source>
        <translation>运行 headroom-decode：在上限之内把潜变量变成图像。</translation>
    </message>
    <message>
        <source>Measure the la&amp;yers</source>
        <translation>测量各层(&amp;Y)</translation>
    </message>
    <message>
        <source>Runs headroom-profile: what each layer of the decoder costs on this machine, in bytes and time. Plans made with this profile predict this machine&apos;s times.</source>
        <translation>运行 headroom-profile：解码器各层在本机上的字节与时间代价。用此剖析得到的方案能预测本机的时间。</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <source>Folder of a model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>The decoder: a folder in diffusers&apos; layout with config.json and weights, or a built-in name.</source>
        <translation>解码器：diffusers 布局、含 config.json 和权重的文件夹，或内置名称。</translation>
    </message>
    <message>
        <source>the model&apos;s own folder</source>
        <translation>模型自己的文件夹</translation>
    </message>
    <message>
        <source>&amp;Weights</source>
        <translation>权重(&amp;W)</translation>
    </message>
    <message>
        <source>Folder of the weights</source>
        <translation>权重文件夹</translation>
    </message>
    <message>
        <source>A folder with diffusion_pytorch_model.safetensors, one file or sharded.</source>
        <translation>含 diffusion_pytorch_model.safetensors 的文件夹，单个文件或分片。</translation>
    </message>
    <message>
        <source>&amp;Random weights</source>
        <translation>随机权重(&amp;R)</translation>
    </message>
    <message>
        <source>Fills the model from a seed: the picture is noise, memory and time are those of real weights.</source>
        <translation>由种子填充模型：图像是噪声，内存和时间与真实权重相同。</translation>
    </message>
    <message>
        <source>S&amp;eed</source>
        <translation>种子(&amp;E)</translation>
    </message>
    <message>
        <source>A whole number; the same seed gives the same weights everywhere.</source>
        <translation>整数；相同的种子在任何地方都给出相同的权重。</translation>
    </message>
    <message>
        <source>latent.npy, latent.safetensors</source>
        <translation>latent.npy、latent.safetensors</translation>
    </message>
    <message>
        <source>L&amp;atent</source>
        <translation>潜变量(&amp;A)</translation>
    </message>
    <message>
        <source>Latent</source>
        <translation>潜变量</translation>
    </message>
    <message>
        <source>The result of the diffusion model, which the decoder turns into a picture: floats, batch × channels × height × width.</source>
        <translation>扩散模型生成、由解码器变成图像的内容：浮点数，批次 × 通道 × 高 × 宽。</translation>
    </message>
    <message>
        <source>By a &amp;plan that is open</source>
        <translation>按打开的方案(&amp;P)</translation>
    </message>
    <message>
        <source>Runs this plan and shows its predictions next to the measurements.</source>
        <translation>原样运行方案，使预测与实测可以对照。</translation>
    </message>
    <message>
        <source>Within a l&amp;imit</source>
        <translation>按上限(&amp;I)</translation>
    </message>
    <message>
        <source>Plans first, for the latent&apos;s size and this many bytes.</source>
        <translation>先按潜变量的尺寸和此字节数规划。</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>The plans that are open. The pages Frontier and Plan make some.</source>
        <translation>打开的方案。可由“前沿”和“方案”页得到。</translation>
    </message>
    <message>
        <source>&amp;Limit</source>
        <translation>上限(&amp;L)</translation>
    </message>
    <message>
        <source>The most device memory that the run may take at any moment, weights included. auto: the free memory.</source>
        <translation>运行在任一时刻至多可占用的设备内存，包括权重。auto：可用的内存。</translation>
    </message>
    <message>
        <source>Si&amp;zes</source>
        <translation>尺寸(&amp;Z)</translation>
    </message>
    <message>
        <source>Pictures at which the layers are measured untiled, in pixels: WIDTHxHEIGHT, with commas between them. Two sizes and more show how costs grow.</source>
        <translation>不切块测量各层所用的图像尺寸（像素）：宽x高，以逗号分隔。两个以上的尺寸可看出代价如何增长。</translation>
    </message>
    <message>
        <source>&amp;Output</source>
        <translation>输出(&amp;O)</translation>
    </message>
    <message>
        <source>Output</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>The picture or clip (%1), the latent (%2), or the profile (.json). Statistics and trace stand beside it and are named after it.</source>
        <translation>图像或视频（%1）、潜变量（%2）或剖析（.json）。统计和跟踪放在旁边并以其命名。</translation>
    </message>
    <message>
        <source>Encode a picture</source>
        <translation>编码图像</translation>
    </message>
    <message>
        <source>Runs headroom-decode encode: the picture becomes a latent inside the limit.</source>
        <translation>运行 headroom-decode encode：在上限之内由图像得到潜变量。</translation>
    </message>
    <message>
        <source>photo.png, frames/, pixels.npy</source>
        <translation>photo.png、frames/、pixels.npy</translation>
    </message>
    <message>
        <source>Picture &amp;file</source>
        <translation>图像文件(&amp;F)</translation>
    </message>
    <message>
        <source>Picture</source>
        <translation>图像</translation>
    </message>
    <message>
        <source>A picture (.png, .jpg, .webp), a folder with the frames of a clip, or floats from -1 to 1 in .npy or .safetensors.</source>
        <translation>图像（.png、.jpg、.webp）、含视频各帧的文件夹，或 .npy、.safetensors 中 -1 到 1 的浮点数。</translation>
    </message>
    <message>
        <source>Pictures and arrays (*.png *.jpg *.jpeg *.webp *.npy *.safetensors)</source>
        <translation>图像和数组 (*.png *.jpg *.jpeg *.webp *.npy *.safetensors)</translation>
    </message>
    <message>
        <source>Latents (%1)</source>
        <translation>潜变量 (%1)</translation>
    </message>
    <message>
        <source>Record a &amp;trace</source>
        <translation>记录跟踪(&amp;T)</translation>
    </message>
    <message>
        <source>Records every allocation, pass and tile for the page Timeline, in up to about 50 MB.</source>
        <translation>每次分配、每一遍、每个切块的实况，供“时间线”页使用：约至 50 MB。</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Pictures and clips (%1)</source>
        <translation>图像和视频 (%1)</translation>
    </message>
    <message>
        <source>Profiles (%1)</source>
        <translation>剖析 (%1)</translation>
    </message>
    <message>
        <source>none: the decoder&apos;s own input</source>
        <translation>无：解码器自己的输入</translation>
    </message>
    <message>
        <source>undo the pipeline&apos;s</source>
        <translation>撤销管线的缩放</translation>
    </message>
    <message>
        <source>detect from its values</source>
        <translation>由其数值判断</translation>
    </message>
    <message>
        <source>Scalin&amp;g of the latent</source>
        <translation>潜变量的缩放(&amp;G)</translation>
    </message>
    <message>
        <source>Most pipelines output scaled latents (output_type="latent"). Without undoing the scaling, the picture is wrong. The option --latent-scale of headroom-decode.</source>
        <translation>多数管线输出经过缩放的潜变量（output_type="latent"）。不撤销缩放，图像就是错的。对应 headroom-decode 的选项 --latent-scale。</translation>
    </message>
    <message>
        <source>Latents (*.npy *.safetensors *.pt *.latent)</source>
        <translation>潜变量 (*.npy *.safetensors *.pt *.latent)</translation>
    </message>
    <message>
        <source>Task</source>
        <translation>任务</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>NVIDIA GPU</source>
        <translation>NVIDIA GPU</translation>
    </message>
    <message>
        <source>&amp;Device</source>
        <translation>设备(&amp;D)</translation>
    </message>
    <message>
        <source>The device that runs it. A GPU needs a build of Headroom with CUDA.</source>
        <translation>运行所用的设备。GPU 需要带 CUDA 的 Headroom 版本。</translation>
    </message>
    <message>
        <source>Compare with the &amp;untiled decode</source>
        <translation>与不分块的解码比较(&amp;U)</translation>
    </message>
    <message>
        <source>Decodes untiled afterwards, and reports the largest difference. The limit does not apply to that decode. The option --verify of headroom-decode.</source>
        <translation>随后不分块地再解码一次，并报告最大差异。上限不约束那次解码。对应 headroom-decode 的选项 --verify。</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RunPage</name>
    <message>
        <source>Device memory</source>
        <translation>设备内存</translation>
    </message>
    <message>
        <source>in the pool</source>
        <translation>内存池中</translation>
    </message>
    <message>
        <source>&amp;Start</source>
        <translation>开始(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>取消(&amp;C)</translation>
    </message>
    <message>
        <source>Asks the program to end, and ends it after three seconds. No output is left.</source>
        <translation>请求程序结束，三秒后强制结束。不留下输出。</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>How the run ended</source>
        <translation>运行结果</translation>
    </message>
    <message>
        <source>Device memory while it runs</source>
        <translation>运行时的设备内存</translation>
    </message>
    <message>
        <source>The picture appears here, tile by tile.</source>
        <translation>图像将在此逐块出现。</translation>
    </message>
    <message>
        <source>The picture so far</source>
        <translation>目前的图像</translation>
    </message>
    <message>
        <source>Messages of the program</source>
        <translation>程序的消息</translation>
    </message>
    <message>
        <source>comparing with another decode</source>
        <translation>与另一次解码比较</translation>
    </message>
    <message>
        <source>pass %1 of %2</source>
        <translation>第 %1 遍，共 %2 遍</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>正在启动</translation>
    </message>
    <message>
        <source>%1 left</source>
        <translation>剩余 %1</translation>
    </message>
    <message>
        <source>, </source>
        <translation>，</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>%1 of %2 tiles</source>
        <translation>切块 %1 / %2</translation>
    </message>
    <message>
        <source>step %1 of %2</source>
        <translation>第 %1 / %2 步</translation>
    </message>
    <message>
        <source>%1 (%2 %)</source>
        <translation>%1（%2%）</translation>
    </message>
    <message>
        <source>
Written beside it: %1.</source>
        <translation>
同时写入：%1。</translation>
    </message>
    <message>
        <source>Opens the page that shows the files of this run.</source>
        <translation>打开显示此次运行文件的页。</translation>
    </message>
    <message>
        <source>Open the picture</source>
        <translation>打开图像</translation>
    </message>
    <message>
        <source>Opens the output in the desktop&apos;s viewer.</source>
        <translation>用桌面的查看器打开输出。</translation>
    </message>
    <message>
        <source>Show where the memory went</source>
        <translation>查看内存去向</translation>
    </message>
    <message>
        <source>Show the layers</source>
        <translation>查看各层</translation>
    </message>
    <message>
        <source>All inputs are there. Start runs the program and shows its memory and the picture here.</source>
        <translation>输入已齐全。“开始”运行程序，并在此显示其内存和图像。</translation>
    </message>
    <message>
        <source>A run needs these inputs:</source>
        <translation>运行还需要以下输入：</translation>
    </message>
</context>
<context>
    <name>headroom::gui::ScalingView</name>
    <message>
        <source>%1, about %2×%3</source>
        <translation>%1，约 %2×%3</translation>
    </message>
    <message>
        <source>%1: not even %2×%3 fits.</source>
        <translation>%1：连 %2×%3 也放不下。</translation>
    </message>
    <message>
        <source>%1: %2 and more.</source>
        <translation>%1：%2 及以上。</translation>
    </message>
    <message>
        <source>%1: up to %2.</source>
        <translation>%1：至多 %2。</translation>
    </message>
    <message>
        <source>Drag the limit&apos;s line to see which sizes fit.</source>
        <translation>拖动上限线，查看哪些尺寸放得下。</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>&amp;Go on</source>
        <translation>继续(&amp;G)</translation>
    </message>
    <message>
        <source>%1 pixels</source>
        <translation>%1 像素</translation>
    </message>
    <message>
        <source>The longer side of the largest picture to compute. Large pictures take seconds.</source>
        <translation>考察的最大图像的长边；很大时需要数秒。</translation>
    </message>
    <message>
        <source>Sizes u&amp;p to</source>
        <translation>尺寸上至(&amp;P)</translation>
    </message>
    <message>
        <source>%v of %m sizes</source>
        <translation>%v / %m 个尺寸</translation>
    </message>
    <message>
        <source>Set a limit to see the largest pictures that fit it.</source>
        <translation>设定上限，查看放得下的最大图像。</translation>
    </message>
    <message>
        <source>The largest pictures within %1:</source>
        <translation>%1 之内最大的图像：</translation>
    </message>
    <message>
        <source>Untiled</source>
        <translation>不切块</translation>
    </message>
    <message>
        <source>Planned</source>
        <translation>有方案</translation>
    </message>
</context>
<context>
    <name>headroom::gui::StartPage</name>
    <message>
        <source>Where does a decode&apos;s memory go, and how small can it be?</source>
        <translation>解码的内存用在哪里？最少要多少？</translation>
    </message>
    <message>
        <source>&amp;Plan a decode</source>
        <translation>规划解码(&amp;P)</translation>
    </message>
    <message>
        <source>Opened before</source>
        <translation>以前打开的文件</translation>
    </message>
    <message>
        <source>Files opened before</source>
        <translation>以前打开的文件</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>Open an &amp;example</source>
        <translation>打开示例(&amp;E)</translation>
    </message>
    <message>
        <source>A decode ran out of memory</source>
        <translation>解码时内存不足</translation>
    </message>
    <message>
        <source>Plan a decode</source>
        <translation>规划解码</translation>
    </message>
    <message>
        <source>Choose a model, a size and a limit of memory. Headroom finds the fastest decode within the limit, with the pixels of the untiled decode. The page Run starts it.</source>
        <translation>选择模型、尺寸和内存上限。Headroom 找出上限之内最快的解码，像素与不分块的解码相同。在“运行”页开始解码。</translation>
    </message>
    <message>
        <source>Look at an example</source>
        <translation>查看示例</translation>
    </message>
    <message>
        <source>The files of a decode within a limit: its plan, its measured memory and the times of its layers. You can drop other files of Headroom anywhere on this window.</source>
        <translation>一次上限之内的解码的文件：方案、实测内存和各层的时间。Headroom 的其他文件可以拖到此窗口的任何位置。</translation>
    </message>
    <message>
        <source>There is no folder demo/ or docs/tour/ beside this program or above it. “make demo” in Headroom&apos;s folder decodes a picture within a limit and writes demo/.</source>
        <translation>此程序旁边或上层没有文件夹 demo/ 或 docs/tour/。在 Headroom 的文件夹中运行 “make demo” 会在上限之内解码一幅图像并写出 demo/。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::TableView</name>
    <message>
        <source>Filter (Ctrl+F)</source>
        <translation>筛选 (Ctrl+F)</translation>
    </message>
    <message>
        <source>Filter</source>
        <translation>筛选</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::TimelinePage</name>
    <message>
        <source>Memory by kind</source>
        <translation>按种类的内存</translation>
    </message>
    <message>
        <source>Memory map</source>
        <translation>内存图</translation>
    </message>
    <message>
        <source>Predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>&amp;Go to the peak</source>
        <translation>转到峰值(&amp;G)</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
    <message>
        <source>Two different decodes: the plan is of %1; the run is of %2. The plan did not predict this run.</source>
        <translation>两次不同的解码：方案是 %1；运行是 %2。该方案预测的不是这次运行。</translation>
    </message>
    <message>
        <source>What would &amp;lower it</source>
        <translation>什么能降低它(&amp;L)</translation>
    </message>
    <message>
        <source>Shows, on the page Plan, which plans have a lower peak and what they take.</source>
        <translation>在“方案”页上显示哪些方案的峰值更低，以及它们的代价。</translation>
    </message>
    <message>
        <source>This page shows device memory over time: predicted by a plan, measured by the trace of a run, or one above the other. No plan and no trace is open. The page Run records a trace, and so does headroom-decode --trace trace.json.</source>
        <translation>此页显示随时间的设备内存：由方案预测、由运行的跟踪实测，或上下对照。没有打开方案或跟踪。“运行”页和 headroom-decode --trace trace.json 会记录跟踪。</translation>
    </message>
    <message>
        <source>&amp;Plan a decode</source>
        <translation>规划解码(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Run a decode</source>
        <translation>运行解码(&amp;R)</translation>
    </message>
    <message>
        <source>A click on a chart holds the cursor, another lets it go. Wheel: zoom, drag: pan, double click: all. Shift and drag: a range for the tables.</source>
        <translation>单击图表固定光标，再单击放开。滚轮：缩放，拖动：平移，双击：全部。按住 Shift 拖动：为表格选择范围。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::TimelineSide</name>
    <message>
        <source>%1, live at %2: %3</source>
        <translation>%1，%2 时在用：%3</translation>
    </message>
    <message>
        <source>%1, live at %2: %3, in pass %4, %5</source>
        <translation>%1，%2 时在用：%3，第 %4 遍，%5</translation>
    </message>
    <message>
        <source>%1, the highest moment from %2 to %3</source>
        <translation>%1（%2 至 %3 之间的最高时刻）</translation>
    </message>
</context>
<context>
    <name>headroom::gui::Workspace</name>
    <message>
        <source>%1, rank %2</source>
        <translation>%1，进程 %2</translation>
    </message>
</context>
<context>
    <name>headroom::gui::UsedPlanBar</name>
    <message>
        <source>This plan is in use: the pages Timeline, Plan and Run show it. It is not saved and is lost with this window. Save it to keep it, or run it.</source>
        <translation>正在使用此方案：“时间线”、“方案”和“运行”页显示的都是它。它还没有存入文件，会随本窗口关闭而消失。请保存它，或运行它。</translation>
    </message>
    <message>
        <source>Sa&amp;ve plan…</source>
        <translation>保存方案(&amp;V)…</translation>
    </message>
    <message>
        <source>R&amp;un it</source>
        <translation>运行(&amp;U)</translation>
    </message>
    <message>
        <source>Save plan</source>
        <translation>保存方案</translation>
    </message>
    <message>
        <source>Plans (*.json)</source>
        <translation>方案 (*.json)</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>已保存 %1</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RemedyWords</name>
    <message>
        <source>takes %1 in host memory</source>
        <translation>占用 %1 主机内存</translation>
    </message>
    <message>
        <source>takes %1 in the scratch file</source>
        <translation>在暂存文件中占用 %1</translation>
    </message>
    <message>
        <source>Folder for a scratch file</source>
        <translation>暂存文件的文件夹</translation>
    </message>
    <message>
        <source>Load weights pass by pass</source>
        <translation>逐遍载入权重</translation>
    </message>
    <message>
        <source>Keep tensors in a scratch file…</source>
        <translation>把张量存入暂存文件…</translation>
    </message>
    <message>
        <source>Allow more host memory</source>
        <translation>允许更多主机内存</translation>
    </message>
    <message>
        <source>Store kept tensors in %1</source>
        <translation>以 %1 存储保留张量</translation>
    </message>
    <message>
        <source>A smaller limit alone</source>
        <translation>只降低上限</translation>
    </message>
    <message>
        <source>as fast</source>
        <translation>速度相同</translation>
    </message>
    <message>
        <source>%1 faster</source>
        <translation>快 %1</translation>
    </message>
    <message>
        <source>%1 slower</source>
        <translation>慢 %1</translation>
    </message>
</context>
<context>
    <name>headroom::gui::LowerPeakBox</name>
    <message>
        <source>What would lower the peak</source>
        <translation>什么能降低峰值</translation>
    </message>
    <message>
        <source>Not looked at, for lack of time: %1.</source>
        <translation>因时间不够未查看：%1。</translation>
    </message>
    <message>
        <source>%1, in at most 5 % more time</source>
        <translation>%1（耗时最多增加 5 %）</translation>
    </message>
    <message>
        <source>; </source>
        <translation>；</translation>
    </message>
    <message>
        <source>Looking for lower peaks…</source>
        <translation>正在寻找更低的峰值…</translation>
    </message>
    <message>
        <source>No known change: this is the lowest peak.</source>
        <translation>没有已知的办法：这已是最低的峰值。</translation>
    </message>
    <message>
        <source>A short search found nothing. Drag the limit on the page Frontier.</source>
        <translation>短时间内没有找到；请在“前沿”页上拖动上限。</translation>
    </message>
    <message>
        <source>headroom-plan has the option %1 for this</source>
        <translation>相当于 headroom-plan 的选项 %1</translation>
    </message>
    <message>
        <source>No plan was found under this limit.</source>
        <translation>在此上限下没有找到方案。</translation>
    </message>
    <message>
        <source>Use the chosen remedy</source>
        <translation>采用所选办法</translation>
    </message>
    <message>
        <source>%1, lowest peak</source>
        <translation>%1，峰值最低</translation>
    </message>
</context>
<context>
    <name>QTabBar</name>
    <message>
        <source>Scroll Left</source>
        <translation>向左滚动</translation>
    </message>
    <message>
        <source>Scroll Right</source>
        <translation>向右滚动</translation>
    </message>
</context>
<context>
    <name>QDockWidget</name>
    <message>
        <source>Closes the dock widget</source>
        <translation>关闭此面板</translation>
    </message>
    <message>
        <source>Undocks and re-attaches the dock widget</source>
        <translation>使此面板浮动或重新停靠</translation>
    </message>
    <message>
        <source>Float</source>
        <translation>浮动</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>EmptyPage</name>
    <message>
        <source>&amp;Open files…</source>
        <translation>打开文件(&amp;O)…</translation>
    </message>
</context>
<context>
    <name>headroom::gui::KindWords</name>
    <message>
        <source>slack: reserved, unused</source>
        <translation>余量：已预留、未使用</translation>
    </message>
    <message>
        <source>Parameters of the decoder on the device.</source>
        <translation>设备上的解码器参数。</translation>
    </message>
    <message>
        <source>The input of the decode.</source>
        <translation>解码的输入。</translation>
    </message>
    <message>
        <source>Inputs and outputs of the steps of the current tile.</source>
        <translation>当前切块各步骤的输入和输出。</translation>
    </message>
    <message>
        <source>Memory that a step takes while it runs, besides its inputs and outputs.</source>
        <translation>步骤运行期间，在其输入和输出之外占用的内存。</translation>
    </message>
    <message>
        <source>Bytes of the reservation that nothing uses at the moment.</source>
        <translation>预留内存中此刻没有使用的字节。</translation>
    </message>
    <message>
        <source>Memory that cuDNN, cuBLAS and other libraries take from the driver.</source>
        <translation>cuDNN、cuBLAS 等库向驱动程序请求的内存。</translation>
    </message>
    <message>
        <source>The rest of the memory that the driver counts: the CUDA context and the code of kernels.</source>
        <translation>驱动程序计入的其余内存：CUDA 上下文和内核代码。</translation>
    </message>
    <message>
        <source>Memory of the process outside of the decode&apos;s own allocations. A plan reserves bytes for it.</source>
        <translation>进程在解码自身分配之外的内存。方案为其预留字节。</translation>
    </message>
    <message>
        <source>Tensors that stay in memory between passes: one pass stores them for later ones.</source>
        <translation>遍与遍之间留在内存中的张量：某一遍为后面的遍存储。</translation>
    </message>
</context>
<context>
    <name>headroom::gui::RecordBox</name>
    <message>
        <source>Put these three lines around the decode. The last one writes a snapshot of PyTorch&apos;s memory, also if the decode fails.</source>
        <translation>把这三行放在解码前后。最后一行写出 PyTorch 内存的快照，解码失败时也会写出。</translation>
    </message>
    <message>
        <source>&amp;Copy the lines</source>
        <translation>复制这几行(&amp;C)</translation>
    </message>
    <message>
        <source>Drop snapshot.pickle here. Headroom reads the file and does not execute it. The page PyTorch memory shows the tensors that held the peak, and a limit that would have fitted.</source>
        <translation>把 snapshot.pickle 拖到这里。Headroom 只读取该文件，不执行它。“PyTorch 内存”页显示构成峰值的张量，以及本可放得下的上限。</translation>
    </message>
    <message>
        <source>&amp;Open files…</source>
        <translation>打开文件(&amp;O)…</translation>
    </message>
</context>
</TS>
