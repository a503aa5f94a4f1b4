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
  static std::vector<std::pair<QString, QString>> words();
  static QString about();
  static void show(QWidget* parent, const QString& title, const QString& html, const QSize& size);
};

/// Words and explanations, ordered so that later words build on earlier ones.
std::vector<std::pair<QString, QString>> Glossary::words() {
  return {
      {tr("Peak"), tr("The largest number of bytes in use at one time: weights, kept tensors, tiles, "
                      "workspace and other "
                      "memory of the process.")},
      {tr("Limit"), tr("What the peak may be at most. A plan under a limit never crosses it: a run that "
                       "would stops before.")},
      {tr("Plan"), tr("How one decode runs under a limit: its passes, the tensors that it keeps and where, "
                      "its tiles, and "
                      "what is predicted of each pass.")},
      {tr("Barrier"),
       tr("An operation that must see the whole picture before it can go on: the statistics of a GroupNorm, "
          "the "
          "keys and values of attention. Between two barriers a tile gives exactly the untiled values.")},
      {tr("Pass"),
       tr("One sweep of tiles over the picture, which ends in what a barrier or the output needs.")},
      {tr("Tile"), tr("A part of the picture that runs through all steps of a pass at once.")},
      {tr("Halo"), tr("The rows and columns around a tile that its convolutions read: computed again for "
                      "each tile, thrown "
                      "away after it.")},
      {tr("Kept tensor"), tr("A tensor that is stored whole from the pass that writes it to the last that "
                             "reads it: on the device, in "
                             "host memory or in a scratch file. What is not kept is computed again by each "
                             "pass that needs it.")},
      {tr("Workspace"), tr("Memory that a step takes while it runs, beside what it reads and makes.")},
      {tr("Other process memory, reserve"), tr("Growth of the process that is not ours: stacks, compiled "
                                               "kernels, small things. A plan reserves bytes "
                                               "for it.")},
      {tr("Slack"),
       tr("Bytes of a GPU that are reserved for the decode and free at the moment. In a plan: gaps "
          "between what lies in the reservation.")},
      {tr("Libraries"),
       tr("Bytes of a GPU that libraries take from its driver by themselves. Only the driver sees them.")},
      {tr("Context and modules"), tr("What the driver counts of a GPU's memory beside all this: the CUDA "
                                     "context, the kernels' code, buffers of its own.")},
      {tr("Live set"), tr("Everything that is on the device at one moment.")},
      {tr("Frontier"), tr("The fastest plan under every limit: what a smaller peak costs in time, and where "
                          "more memory gains "
                          "nothing.")},
      {tr("Optimal, bound"), tr("A plan is optimal where it is proven that none of the plan space is faster; "
                                "otherwise the bound says "
                                "how much faster one could be at most.")},
      {tr("Profile, latency table"),
       tr("What layers cost on this machine. A latency table gives the time of one kind of call "
          "for any tile. Without a "
          "profile the planner uses stated assumptions, and says so.")},
      {tr("Untiled"),
       tr("The decode as it is built: every layer over the whole picture at once. Headroom's plans give its "
          "pixels.")},
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
  for (const auto& [word, meaning] : Glossary::words())
    html += QStringLiteral("<p><b>%1</b><br>%2</p>").arg(word.toHtmlEscaped(), meaning.toHtmlEscaped());
  Glossary::show(parent, Glossary::tr("What the words mean"), html, {560, 620});
}

void show_about(QWidget* parent) {
  Glossary::show(parent, Glossary::tr("About Headroom"), Glossary::about(), {520, 360});
}

}  // namespace headroom::gui
