<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>figures</name>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>latent</source>
        <translation>潜变量</translation>
    </message>
    <message>
        <source>kept tensors</source>
        <translation>保留张量</translation>
    </message>
    <message>
        <source>tiles</source>
        <translation>切块</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>other process memory</source>
        <translation>进程其他内存</translation>
    </message>
    <message>
        <source>weights of the pass</source>
        <translation>本遍的权重</translation>
    </message>
    <message>
        <source>reserve</source>
        <translation>预留</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>tile</source>
        <translation>切块</translation>
    </message>
    <message>
        <source>tiles of</source>
        <translation>切块：</translation>
    </message>
    <message>
        <source>conv</source>
        <translation>卷积</translation>
    </message>
    <message>
        <source>upsample</source>
        <translation>上采样</translation>
    </message>
    <message>
        <source>statistics</source>
        <translation>统计量</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>归一化</translation>
    </message>
    <message>
        <source>add</source>
        <translation>相加</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>gather</source>
        <translation>收集</translation>
    </message>
    <message>
        <source>store</source>
        <translation>存储</translation>
    </message>
    <message>
        <source>accumulate</source>
        <translation>累加</translation>
    </message>
    <message>
        <source>emit</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>direct</source>
        <translation>直接</translation>
    </message>
    <message>
        <source>winograd</source>
        <translation>Winograd</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>host</source>
        <translation>主机内存</translation>
    </message>
    <message>
        <source>scratch</source>
        <translation>暂存文件</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>resident</source>
        <translation>常驻</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>limit</source>
        <translation>上限</translation>
    </message>
    <message>
        <source>picture</source>
        <translation>图像</translation>
    </message>
    <message>
        <source>untiled</source>
        <translation>不切块</translation>
    </message>
    <message>
        <source>smallest limit</source>
        <translation>最小上限</translation>
    </message>
    <message>
        <source>untiled, measured</source>
        <translation>不切块，实测</translation>
    </message>
    <message>
        <source>runs of plans, measured</source>
        <translation>按方案运行，实测</translation>
    </message>
    <message>
        <source>planned</source>
        <translation>有方案</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>fastest plan</source>
        <translation>最快方案</translation>
    </message>
    <message>
        <source>plans</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>positions of a tile</source>
        <translation>切块的位置数</translation>
    </message>
    <message>
        <source>queries × keys</source>
        <translation>查询 × 键</translation>
    </message>
    <message>
        <source>time of one call</source>
        <translation>单次调用时间</translation>
    </message>
    <message>
        <source>Passes of the plan</source>
        <translation>方案的各遍</translation>
    </message>
    <message>
        <source>Passes, predicted and measured</source>
        <translation>各遍：预测与实测</translation>
    </message>
    <message>
        <source>Passes of the run</source>
        <translation>运行的各遍</translation>
    </message>
    <message>
        <source>Peak of each pass</source>
        <translation>各遍的峰值</translation>
    </message>
    <message>
        <source>Kept tensors</source>
        <translation>保留张量</translation>
    </message>
    <message>
        <source>Peak against time</source>
        <translation>峰值与时间</translation>
    </message>
    <message>
        <source>Peak against resolution</source>
        <translation>峰值与分辨率</translation>
    </message>
    <message>
        <source>Layers of</source>
        <translation>层：</translation>
    </message>
    <message>
        <source>Live at the peak of</source>
        <translation>峰值时在用：</translation>
    </message>
    <message>
        <source>on the device at</source>
        <translation>设备上的内容，时刻</translation>
    </message>
    <message>
        <source>What would lower the peak</source>
        <translation>怎样降低峰值</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>种类</translation>
    </message>
    <message>
        <source>latency table</source>
        <translation>延迟表</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>live</source>
        <translation>在用</translation>
    </message>
    <message>
        <source>work</source>
        <translation>计算量</translation>
    </message>
    <message>
        <source>pass</source>
        <translation>遍</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>convolutions</source>
        <translation>卷积形式</translation>
    </message>
    <message>
        <source>direct convolutions</source>
        <translation>直接形式的卷积</translation>
    </message>
    <message>
        <source>ratio</source>
        <translation>比值</translation>
    </message>
    <message>
        <source>size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>张量</translation>
    </message>
    <message>
        <source>tier</source>
        <translation>存储层</translation>
    </message>
    <message>
        <source>written in</source>
        <translation>写入于</translation>
    </message>
    <message>
        <source>read in</source>
        <translation>读取于</translation>
    </message>
    <message>
        <source>until</source>
        <translation>直到</translation>
    </message>
    <message>
        <source>in place of</source>
        <translation>取代</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>每批份数</translation>
    </message>
    <message>
        <source>lower tier</source>
        <translation>下级存储层</translation>
    </message>
    <message>
        <source>change</source>
        <translation>改动</translation>
    </message>
    <message>
        <source>meaning</source>
        <translation>含义</translation>
    </message>
    <message>
        <source>saved</source>
        <translation>节省</translation>
    </message>
    <message>
        <source>item</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Size of the layer's whole output, as stored.</source>
        <translation>该层交出的内容：按存储格式计的完整输出。</translation>
    </message>
    <message>
        <source>Memory that the layer takes while it runs, besides its inputs and its output: buffers, and the zero padding of a convolution.</source>
        <translation>该层运行期间在输入和输出之外占用的内存：缓冲区，以及卷积读取的一圈零。</translation>
    </message>
    <message>
        <source>All memory in use on the device at the layer&apos;s peak, weights and kept tensors of other layers included.</source>
        <translation>该层最高时刻设备上的全部内容，包括权重和其他层的保留张量。</translation>
    </message>
    <message>
        <source>Floating-point operations of the direct form, a multiplication and an addition counted as two.</source>
        <translation>直接形式的浮点运算次数，一次乘法和一次加法计为两次。</translation>
    </message>
    <message>
        <source>The shortest of the profiled runs.</source>
        <translation>各次剖析运行中最短的时间。</translation>
    </message>
    <message>
        <source>Layers that differ only in their sizes share a latency table.</source>
        <translation>仅尺寸不同的层共用一张时延表。</translation>
    </message>
    <message>
        <source>Share of the device memory in use at that moment.</source>
        <translation>占当时设备上全部内容的比例。</translation>
    </message>
    <message>
        <source>Measured over predicted.</source>
        <translation>实测除以预测。</translation>
    </message>
    <message>
        <source>Peak of the device memory in this pass, weights and reserve included.</source>
        <translation>该遍最高时刻设备上的全部字节，包括权重和预留。</translation>
    </message>
    <message>
        <source>Peak of the pool in this pass, without the growth of other process memory.</source>
        <translation>该遍中内存池的最高时刻；不含内存池之外的增长。</translation>
    </message>
    <message>
        <source>Predicted time of all tiles of all micro-batches.</source>
        <translation>全部切块，含批次的每个分片。</translation>
    </message>
    <message>
        <source>Measured time of the same tiles.</source>
        <translation>同上。</translation>
    </message>
    <message>
        <source>Number of tiles, and columns × rows (× frames) of the first one, in positions of the pass&apos;s grid.</source>
        <translation>数量，以及第一个切块的列 × 行（× 帧），按该遍网格的位置计。</translation>
    </message>
    <message>
        <source>Algorithm of its 3×3 convolutions: direct or Winograd. Winograd multiplies less, but needs larger kernels and workspace. Some convolutions of a Winograd pass may be direct.</source>
        <translation>其 3×3 卷积的形式：直接，或 Winograd（乘法更少，但卷积核和工作区更大）。同一趟中也可有一部分仍为直接形式。</translation>
    </message>
    <message>
        <source>Floating-point operations of the direct form, halos included.</source>
        <translation>直接形式的浮点运算次数，包括边缘。</translation>
    </message>
    <message>
        <source>Memory that stores the tensor: the device, host memory or a scratch file.</source>
        <translation>存放的位置；若不完整，则注明从哪一行以上。</translation>
    </message>
    <message>
        <source>The pass that writes it.</source>
        <translation>写入它的那一遍。</translation>
    </message>
    <message>
        <source>The passes that read it but do not write it.</source>
        <translation>读取整个张量的各遍。</translation>
    </message>
    <message>
        <source>The last pass that reads it. This pass frees the blocks as it proceeds.</source>
        <translation>最后读取它的一遍，边读边交还其内存块。</translation>
    </message>
    <message>
        <source>The tensor whose blocks it reuses.</source>
        <translation>写入时接管其内存块的那个张量。</translation>
    </message>
    <message>
        <source>Peak of the plan. It is also the smallest limit that gives this plan.</source>
        <translation>该方案的峰值，也是能得到它的最小上限。</translation>
    </message>
    <message>
        <source>Predicted.</source>
        <translation>预测值。</translation>
    </message>
    <message>
        <source>throughout: all weights stay on the device. per pass: each pass loads its own.</source>
        <translation>全部常驻设备，或在每一遍之前载入该遍所需的部分。</translation>
    </message>
    <message>
        <source>Batch items that go through all passes together.</source>
        <translation>一起走完所有遍的批次份数。</translation>
    </message>
    <message>
        <source>Memory for kept tensors that do not stay on the device.</source>
        <translation>张量在设备之外可以存放的位置。</translation>
    </message>
    <message>
        <source>An option of headroom-plan.</source>
        <translation>写成 headroom-plan 的选项。</translation>
    </message>
    <message>
        <source>The smallest limit that works with only this change.</source>
        <translation>只作此改动时仍有方案的最小上限。</translation>
    </message>
    <message>
        <source>The plan's peak less this limit.</source>
        <translation>相对于现在的峰值。</translation>
    </message>
    <message>
        <source>Saved share of the current peak.</source>
        <translation>节省部分占现在峰值的比例。</translation>
    </message>
    <message>
        <source>Predicted, under that limit.</source>
        <translation>在该上限下的预测值。</translation>
    </message>
    <message>
        <source>only a smaller limit</source>
        <translation>只降低上限，其他不变</translation>
    </message>
    <message>
        <source>the planner may load weights for each pass</source>
        <translation>在更合算时逐遍载入权重</translation>
    </message>
    <message>
        <source>kept tensors may live in a file on a disk</source>
        <translation>保留张量可以存放在磁盘文件中</translation>
    </message>
    <message>
        <source>kept tensors may live in a larger file on a disk</source>
        <translation>保留张量可以存放在更大的磁盘文件中</translation>
    </message>
    <message>
        <source>kept tensors may take more of the host&apos;s memory</source>
        <translation>保留张量可以占用更多主机内存</translation>
    </message>
    <message>
        <source>kept tensors are stored in 16 bits, as bf16</source>
        <translation>保留张量以 16 位 bf16 存储</translation>
    </message>
    <message>
        <source>kept tensors are stored in 16 bits, as fp16</source>
        <translation>保留张量以 16 位 fp16 存储</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Work</source>
        <translation>计算量</translation>
    </message>
    <message>
        <source>What else differs</source>
        <translation>其他不同之处</translation>
    </message>
    <message>
        <source>whole decode</source>
        <translation>整个解码</translation>
    </message>
    <message>
        <source>model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>sizes</source>
        <translation>尺寸</translation>
    </message>
    <message>
        <source>dtype</source>
        <translation>数据类型</translation>
    </message>
    <message>
        <source>libraries</source>
        <translation>库</translation>
    </message>
    <message>
        <source>predicted peak</source>
        <translation>预测峰值</translation>
    </message>
    <message>
        <source>predicted time</source>
        <translation>预测时间</translation>
    </message>
    <message>
        <source>threads</source>
        <translation>线程数</translation>
    </message>
    <message>
        <source>frames</source>
        <translation>帧数</translation>
    </message>
    <message>
        <source>batch</source>
        <translation>批次</translation>
    </message>
    <message>
        <source>costs</source>
        <translation>代价</translation>
    </message>
    <message>
        <source>assumed</source>
        <translation>假定</translation>
    </message>
    <message>
        <source>profile</source>
        <translation>剖析</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>步骤</translation>
    </message>
    <message>
        <source>decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <source>under</source>
        <translation>上限</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>stats</source>
        <translation>运行统计</translation>
    </message>
    <message>
        <source>trace</source>
        <translation>跟踪</translation>
    </message>
    <message>
        <source>frontier</source>
        <translation>前沿</translation>
    </message>
    <message>
        <source>pixel</source>
        <translation>像素</translation>
    </message>
    <message>
        <source>pixels</source>
        <translation>像素</translation>
    </message>
    <message>
        <source>MP</source>
        <translation>百万像素</translation>
    </message>
    <message>
        <source>in at most 5 % more time</source>
        <translation>耗时最多增加 5 %</translation>
    </message>
    <message>
        <source>The lowest peak with this change in at most 5 % more time than the plan.</source>
        <translation>采用此更改且耗时最多增加 5 % 时的最低值。</translation>
    </message>
    <message>
        <source>Predicted, of that plan.</source>
        <translation>该计划的预测值。</translation>
    </message>
    <message>
        <source>columns</source>
        <translation>列</translation>
    </message>
    <message>
        <source>keys</source>
        <translation>个键</translation>
    </message>
    <message>
        <source>interleaved attention</source>
        <translation>交错注意力</translation>
    </message>
    <message>
        <source>interpolate</source>
        <translation>插值</translation>
    </message>
    <message>
        <source>unfold frames</source>
        <translation>展开帧</translation>
    </message>
    <message>
        <source>layer norm</source>
        <translation>层归一化</translation>
    </message>
    <message>
        <source>rms norm</source>
        <translation>RMS 归一化</translation>
    </message>
    <message>
        <source>gate</source>
        <translation>门控</translation>
    </message>
    <message>
        <source>depth to space</source>
        <translation>深度到空间</translation>
    </message>
    <message>
        <source>activate</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>per pass</source>
        <translation>逐遍载入</translation>
    </message>
    <message>
        <source>throughout</source>
        <translation>常驻</translation>
    </message>
    <message>
        <source>fastest</source>
        <translation>最快</translation>
    </message>
    <message>
        <source>smallest</source>
        <translation>最小</translation>
    </message>
    <message>
        <source>bound</source>
        <translation>下界</translation>
    </message>
    <message>
        <source>scale</source>
        <translation>缩放</translation>
    </message>
    <message>
        <source>predicted flops</source>
        <translation>预测计算量</translation>
    </message>
    <message>
        <source>width</source>
        <translation>宽度</translation>
    </message>
    <message>
        <source>height</source>
        <translation>高度</translation>
    </message>
    <message>
        <source>convolution</source>
        <translation>卷积形式</translation>
    </message>
    <message>
        <source>optimal</source>
        <translation>最优</translation>
    </message>
    <message>
        <source>not proven optimal</source>
        <translation>未证明最优</translation>
    </message>
    <message>
        <source>at most</source>
        <translation>至多</translation>
    </message>
    <message>
        <source>fastest to within 0.1 %</source>
        <translation>与最快相差不到 0.1 %</translation>
    </message>
    <message>
        <source>The smallest limit from yours on that has a plan with the change.</source>
        <translation>采用该改动后有方案的最小上限，不低于您的上限。</translation>
    </message>
    <message>
        <source>Other memory that the plan takes, or if the change is not enough.</source>
        <translation>方案占用的其他内存，或该改动仍不足够。</translation>
    </message>
    <message>
        <source>note</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>above the best</source>
        <translation>高于最优</translation>
    </message>
    <message>
        <source>slack</source>
        <translation>空闲预留</translation>
    </message>
    <message>
        <source>context and modules</source>
        <translation>上下文与模块</translation>
    </message>
    <message>
        <source>gaps</source>
        <translation>空隙</translation>
    </message>
    <message>
        <source>kernel</source>
        <translation>核函数</translation>
    </message>
    <message>
        <source>copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>fill</source>
        <translation>填充</translation>
    </message>
    <message>
        <source>others</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>host to device</source>
        <translation>主机到设备</translation>
    </message>
    <message>
        <source>device to host</source>
        <translation>设备到主机</translation>
    </message>
    <message>
        <source>device to device</source>
        <translation>设备内部</translation>
    </message>
    <message>
        <source>stream</source>
        <translation>流</translation>
    </message>
    <message>
        <source>any stream</source>
        <translation>任一流</translation>
    </message>
    <message>
        <source>counted by the driver</source>
        <translation>驱动统计</translation>
    </message>
    <message>
        <source>Time of the GPU by passes</source>
        <translation>各遍的 GPU 时间</translation>
    </message>
    <message>
        <source>Steps that took the GPU longest</source>
        <translation>占用 GPU 最久的步骤</translation>
    </message>
    <message>
        <source>What the GPU ran</source>
        <translation>GPU 运行的内容</translation>
    </message>
    <message>
        <source>Copies to and from the GPU</source>
        <translation>与 GPU 之间的复制</translation>
    </message>
    <message>
        <source>Streams of the GPU</source>
        <translation>GPU 的流</translation>
    </message>
    <message>
        <source>calls</source>
        <translation>调用次数</translation>
    </message>
    <message>
        <source>moved</source>
        <translation>搬运量</translation>
    </message>
    <message>
        <source>rate</source>
        <translation>速率</translation>
    </message>
    <message>
        <source>busy</source>
        <translation>忙碌</translation>
    </message>
    <message>
        <source>From its first tile to its last, all micro-batches together.</source>
        <translation>从第一个图块到最后一个，所有份合计。</translation>
    </message>
    <message>
        <source>Time on the host from the step's start until the next step.</source>
        <translation>从步骤开始到主机转入下一步为止。</translation>
    </message>
    <message>
        <source>Kernels and copies that it launched, on all streams.</source>
        <translation>为其启动的核函数和复制，无论在哪个流上运行。</translation>
    </message>
    <message>
        <source>Share of the GPU&apos;s whole time.</source>
        <translation>占全部 GPU 时间的比例。</translation>
    </message>
    <message>
        <source>Time of all calls. Calls on two streams at the same time count twice.</source>
        <translation>所有调用合计；同时在两个流上的计两次。</translation>
    </message>
    <message>
        <source>Share of the listed time.</source>
        <translation>占所列全部时间的比例。</translation>
    </message>
    <message>
        <source>Copied or filled.</source>
        <translation>复制或填充的字节。</translation>
    </message>
    <message>
        <source>While such a copy ran.</source>
        <translation>此类复制运行的时间。</translation>
    </message>
    <message>
        <source>Over the time that the copies ran.</source>
        <translation>按复制运行的时间计算。</translation>
    </message>
    <message>
        <source>Share of the listed decode time.</source>
        <translation>占解码（已列出部分）的比例。</translation>
    </message>
    <message>
        <source>While something ran on it.</source>
        <translation>其上有内容运行的时间。</translation>
    </message>
    <message>
        <source>on the host</source>
        <translation>主机侧</translation>
    </message>
    <message>
        <source>on the GPU</source>
        <translation>GPU 侧</translation>
    </message>
    <message>
        <source>limit of the reservation</source>
        <translation>预留区上限</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>各进程</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>进程</translation>
    </message>
    <message>
        <source>rows</source>
        <translation>行</translation>
    </message>
    <message>
        <source>sent</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>waited</source>
        <translation>等待时间</translation>
    </message>
    <message>
        <source>waiting for other ranks</source>
        <translation>等待其他进程</translation>
    </message>
    <message>
        <source>plan of ranks</source>
        <translation>多进程方案</translation>
    </message>
    <message>
        <source>trace of ranks</source>
        <translation>多进程跟踪</translation>
    </message>
    <message>
        <source>Latent rows that the rank owns.</source>
        <translation>该进程所拥有的潜变量的行。</translation>
    </message>
    <message>
        <source>To other ranks: rows, statistics, output.</source>
        <translation>发给其他进程的：行、统计量、输出。</translation>
    </message>
    <message>
        <source>Time that the rank waited for other ranks.</source>
        <translation>该进程因等待其他进程而停顿的时间。</translation>
    </message>
    <message>
        <source>Share of the rank&apos;s time.</source>
        <translation>占该进程时间的比例。</translation>
    </message>
    <message>
        <source>Time of the rank&apos;s own passes, without waiting for others.</source>
        <translation>该进程自身各遍的时间，不含等待其他进程。</translation>
    </message>
    <message>
        <source>gap</source>
        <translation>空隙</translation>
    </message>
    <message>
        <source>offset</source>
        <translation>偏移</translation>
    </message>
    <message>
        <source>from</source>
        <translation>从</translation>
    </message>
    <message>
        <source>to</source>
        <translation>到</translation>
    </message>
    <message>
        <source>First byte of the block.</source>
        <translation>起始位置。</translation>
    </message>
    <message>
        <source>When the block is allocated.</source>
        <translation>请求的时刻。</translation>
    </message>
    <message>
        <source>When the block is freed.</source>
        <translation>归还的时刻。</translation>
    </message>
    <message>
        <source>in the pool at</source>
        <translation>内存池中，时刻</translation>
    </message>
    <message>
        <source>in the reservation at</source>
        <translation>预留内存中，时刻</translation>
    </message>
    <message>
        <source>on the device at the pass&apos;s peak</source>
        <translation>该遍峰值时设备上的内存</translation>
    </message>
    <message>
        <source>allocated</source>
        <translation>已分配</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>已预留</translation>
    </message>
    <message>
        <source>record</source>
        <translation>记录</translation>
    </message>
    <message>
        <source>out of memory: asked for</source>
        <translation>内存不足：请求</translation>
    </message>
    <message>
        <source>Live tensors</source>
        <translation>存活张量</translation>
    </message>
    <message>
        <source>Live memory by module</source>
        <translation>按模块的存活内存</translation>
    </message>
    <message>
        <source>asked for by</source>
        <translation>请求者</translation>
    </message>
    <message>
        <source>for</source>
        <translation>用于</translation>
    </message>
    <message>
        <source>since</source>
        <translation>自</translation>
    </message>
    <message>
        <source>module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>tensors</source>
        <translation>张量数</translation>
    </message>
    <message>
        <source>The innermost line outside torch.</source>
        <translation>torch 之外最内层的一行。</translation>
    </message>
    <message>
        <source>The function of torch or the module that was running.</source>
        <translation>当时运行的 torch 操作或模块。</translation>
    </message>
    <message>
        <source>Share of all memory allocated at that moment.</source>
        <translation>占当时全部已分配内存的比例。</translation>
    </message>
    <message>
        <source>When the first of them was allocated.</source>
        <translation>分配的时刻。</translation>
    </message>
    <message>
        <source>Path of calls, outermost first. The beginning that all paths share is left out.</source>
        <translation>由外到内的调用，省略共同部分。</translation>
    </message>
    <message>
        <source>What Headroom needs</source>
        <translation>Headroom 所需</translation>
    </message>
    <message>
        <source>Device memory, weights included.</source>
        <translation>设备内存，含权重。</translation>
    </message>
    <message>
        <source>Predicted by assumed costs.</source>
        <translation>按假定代价。</translation>
    </message>
    <message>
        <source>Predicted by the profile.</source>
        <translation>按剖析。</translation>
    </message>
    <message>
        <source>throughout: all weights stay in memory. per pass: each pass loads its own.</source>
        <translation>始终驻留，或逐遍载入。</translation>
    </message>
    <message>
        <source>memory history</source>
        <translation>内存记录</translation>
    </message>
    <message>
        <source>recorded decodes</source>
        <translation>记录的解码</translation>
    </message>
    <message>
        <source>Layers of recorded decodes</source>
        <translation>记录的解码的各层</translation>
    </message>
    <message>
        <source>Live at the recorded peaks</source>
        <translation>记录的峰值时存活</translation>
    </message>
    <message>
        <source>Memory still allocated after the layer&apos;s call: its result and tensors that it keeps.</source>
        <translation>该层调用返回时仍在的内存：其结果以及其保留的部分。</translation>
    </message>
    <message>
        <source>Memory that the layer takes while it runs and then returns.</source>
        <translation>该层运行期间占用并归还的内存。</translation>
    </message>
    <message>
        <source>The smallest limit that Headroom decodes the same picture in.</source>
        <translation>Headroom 解码同一图像所需的最小上限。</translation>
    </message>
    <message>
        <source>Headroom needs</source>
        <translation>Headroom 所需</translation>
    </message>
    <message>
        <source>All memory allocated at the layer&apos;s peak, weights included.</source>
        <translation>该层最高时刻已分配的全部内存，包括权重。</translation>
    </message>
    <message>
        <source>Time of all calls. On a GPU: time of the thread that launches the kernels.</source>
        <translation>所有调用合计。在 GPU 上：启动其核函数的线程的时间。</translation>
    </message>
    <message>
        <source>nchw</source>
        <translation>nchw</translation>
    </message>
    <message>
        <source>channels-last</source>
        <translation>channels-last</translation>
    </message>
    <message>
        <source>join</source>
        <translation>拼接</translation>
    </message>
    <message>
        <source>cost</source>
        <translation>代价</translation>
    </message>
    <message>
        <source>Tensors with the same stack.</source>
        <translation>调用栈相同的张量。</translation>
    </message>
    <message>
        <source>A remedy with the lowest peak of all, or with a peak that costs at most 5 % more time.</source>
        <translation>一种办法，取其最低峰值，或耗时最多增加 5 % 的峰值。</translation>
    </message>
    <message>
        <source>The limit of the plan.</source>
        <translation>该方案的上限。</translation>
    </message>
    <message>
        <source>Time compared with the plan on this page.</source>
        <translation>与此页方案相比的时间。</translation>
    </message>
</context>
</TS>
