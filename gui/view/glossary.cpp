#include "gui/view/glossary.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <utility>
#include <vector>

namespace headroom::gui {
namespace {

class Glossary {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::Glossary)
 public:
  using Words = std::vector<std::pair<QString, QString>>;
  /// Words and explanations, ordered so that later words build on earlier ones.
  static Words words_of_plans();
  static Words words_of_memory_and_time();
  static QString about();
  static void show(QWidget* parent, const QString& title, const QString& html, const QSize& size);
};

Glossary::Words Glossary::words_of_plans() {
  return {
      {tr("Peak"), tr("The largest number of bytes in use at one time: weights, kept tensors, tiles, "
                      "workspace and other memory of the process.")},
      {tr("Limit"),
       tr("The peak that you allow for one decode. A decode stops before it would cross the limit.")},
      {tr("Untiled"), tr("The decode as diffusers and ComfyUI run it without tiling: each layer over the "
                         "whole picture at once. Headroom's picture equals this one up to rounding.")},
      {tr("Latent position"), tr("One place in a latent. In SDXL it stands for 8x8 pixels of the picture.")},
      {tr("Moments"),
       tr("The output of an encoder: a mean and a spread for each value of the latent. The mean "
          "is also called the mode.")},
      {tr("PSNR"), tr("How close two pictures are, in dB. A higher value is closer.")},
      {tr("dtype"), tr("The type of stored numbers: fp32 has 32 bits, bf16 and fp16 have 16 bits.")},
      {tr("GroupNorm"), tr("A layer that shifts and scales groups of channels by their mean and deviation "
                           "over the whole picture.")},
      {tr("Statistics"), tr("The mean and variance of each group of channels that a GroupNorm needs.")},
      {tr("Plan"), tr("The way in which one decode runs under a limit: its passes, its tiles, and the "
                      "tensors that it keeps and where. A plan also states the predicted peak and time.")},
      {tr("Remedy"), tr("A change with which a decode fits a limit, such as 16 bits or a scratch file.")},
      {tr("Barrier"),
       tr("An input that must be complete over the whole picture before an operation can go on: the input of "
          "GroupNorm's statistics, the keys and values of attention. Between two barriers a tile gives "
          "exactly the untiled values.")},
      {tr("Cut point"), tr("A tensor between two layers where a pass may end although no barrier requires "
                           "it. If the pass ends there, the plan keeps the tensor.")},
      {tr("Pass"),
       tr("One sweep of tiles over the picture. It ends at a barrier, at a kept tensor or at the output.")},
      {tr("Step"), tr("One operation of a pass on one tile, such as a convolution or a norm.")},
      {tr("Tile"), tr("A part of the picture that runs through all steps of a pass at once.")},
      {tr("Band"), tr("All tiles of a pass that cover the same rows.")},
      {tr("Chunk"), tr("The frames of a tile that the decoder computes together. A tile goes through all of "
                       "its chunks before the next tile begins.")},
      {tr("Halo"), tr("The rows and columns around a tile that its convolutions read. Neighbouring tiles "
                      "compute them again, or carry them.")},
      {tr("Carried"), tr("Rows or frames that a tile copies from the tile or chunk before it instead of "
                         "computing them again.")},
      {tr("Kept tensor"),
       tr("A tensor that the decoder stores whole between passes: on the device, in host memory or in a "
          "scratch file. Passes recompute all other tensors when they need them.")},
      {tr("Block"), tr("Some rows of a kept tensor. The decoder allocates and frees blocks one by one.")},
      {tr("Memory tier"), tr("A place for kept tensors: the device, host memory or a scratch file.")},
      {tr("Scratch file"), tr("A file on a disk for kept tensors. Only decodes on the CPU use it.")},
      {tr("Host memory, pinned"), tr("The main memory beside a GPU. A GPU copies faster from pinned memory, "
                                     "which the system never moves to a disk.")},
  };
}

Glossary::Words Glossary::words_of_memory_and_time() {
  return {
      {tr("Packed weights"),
       tr("The decoder's weights in the order and dtype in which Headroom computes with them. "
          "They are a copy of the VAE's weights.")},
      {tr("Pool, reservation"),
       tr("The memory for a decode's weights, tensors and workspace. A decode on a GPU reserves "
          "all of it before it begins. On the CPU the pool takes memory when needed and refuses "
          "to exceed the limit.")},
      {tr("Workspace"), tr("Memory that a step takes while it runs, besides its inputs and outputs.")},
      {tr("Other process memory, reserve"),
       tr("Memory that the process takes outside of the decode's own allocations: stacks, compiled kernels, "
          "small objects. A plan reserves bytes for it.")},
      {tr("Resident growth"),
       tr("The main memory by which the process grew during the decode, as Linux counts it.")},
      {tr("Control group"),
       tr("A limit that Linux sets for the memory of a container, service or batch job.")},
      {tr("Gaps, slack"), tr("Bytes of a GPU's reservation that nothing uses at the moment. Gaps are those "
                             "that a plan leaves between its allocations.")},
      {tr("Libraries"),
       tr("Bytes that libraries take from the GPU's driver themselves. Only the driver sees them.")},
      {tr("Context and modules"), tr("The rest of the GPU's memory that the driver counts: the CUDA context, "
                                     "the kernels' code, the driver's own buffers.")},
      {tr("Compute capability"),
       tr("NVIDIA's version number for the abilities of a GPU, such as 8.0 for an A100, 8.6 for "
          "an RTX 3090 and 9.0 for an H100.")},
      {tr("Live set"), tr("Everything that is on the device at one moment.")},
      {tr("Micro-batch"), tr("The pictures of a batch that go through all passes together.")},
      {tr("Rank"),
       tr("One of several processes that decode one picture together. Each rank decodes its own rows.")},
      {tr("Winograd"), tr("A way to compute 3x3 convolutions with fewer multiplications. It rounds "
                          "differently from the direct way.")},
      {tr("Frontier"), tr("The fastest plan under each limit. It shows the time that a smaller peak costs, "
                          "and the limit above which more memory gains nothing.")},
      {tr("Optimal, bound"), tr("A plan is optimal if the search proves that no other plan is faster. "
                                "Otherwise the bound says how much faster another plan could be at most.")},
      {tr("Assumed costs"),
       tr("The speed that the planner assumes without a profile: two CPU cores with AVX-512, or an H100. "
          "Times on another machine can be off by a factor of 2 to 3.")},
      {tr("Profile, latency table"), tr("The measured times of layers on this machine. A latency table gives "
                                        "the time of one kind of call for any tile.")},
      {tr("Trace"), tr("A file with the allocations, passes and steps of one decode, and their times.")},
      {tr("GiB, MiB, KiB"), tr("1024 MiB, 1024 KiB, 1024 bytes.")},
  };
}

void Glossary::show(QWidget* parent, const QString& title, const QString& html, const QSize& size) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  auto* text = new QTextBrowser(dialog);
  text->setOpenExternalLinks(true);
  text->setHtml(html);
  auto* buttons = new QDialogButtonBox(dialog);
  auto* close = buttons->addButton(tr("&Close"), QDialogButtonBox::RejectRole);
  close->setDefault(true);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(text);
  layout->addWidget(buttons);
  dialog->resize(size);
  dialog->show();
}

/// Version and licences.
QString Glossary::about() {
  return QStringLiteral("<h3>Headroom " HEADROOM_VERSION "</h3><p>%1</p><p>%2</p><p>%3</p><p>%4</p>")
      .arg(tr("Exact VAE decoding inside a byte budget: the pixels of the untiled decode, the peak known "
              "before the run."),
           tr("Headroom's sources are under the Apache License 2.0."),
           tr("Plots are drawn by QCustomPlot 2.1 by Emanuel Eichhammer, which is under the GNU General "
              "Public License 3 or "
              "later. This program is linked with it and is therefore under the same terms; Headroom's "
              "libraries and other "
              "programs are not linked with it."),
           tr("Windows are made with Qt 6, under the GNU Lesser General Public License 3. JSON files are "
              "read with "
              "nlohmann/json and command lines with CLI11, under the MIT and the BSD licence."));
}

}  // namespace

void show_glossary(QWidget* parent) {
  QString html;
  for (const Glossary::Words& words : {Glossary::words_of_plans(), Glossary::words_of_memory_and_time()}) {
    for (const auto& [word, meaning] : words)
      html += QStringLiteral("<p><b>%1</b><br>%2</p>").arg(word.toHtmlEscaped(), meaning.toHtmlEscaped());
  }
  Glossary::show(parent, Glossary::tr("What the words mean"), html, {560, 620});
}

void show_about(QWidget* parent) {
  Glossary::show(parent, Glossary::tr("About Headroom"), Glossary::about(), {520, 360});
}

}  // namespace headroom::gui
