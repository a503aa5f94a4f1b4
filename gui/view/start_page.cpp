#include "gui/view/start_page.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/model/workspace.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr int kFoldersAbove = 4;
constexpr int kWidest = 760;

QLabel* scaled_paragraph(const QString& text, double scale, QWidget* parent) {
  auto* label = new PlainLabel(text, parent);
  label->setWordWrap(true);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setBold(scale > 1.3);
  label->setFont(font);
  return label;
}

QLabel* step_number(int number, QWidget* parent) {
  auto* label = scaled_paragraph(QString::number(number), 1.8, parent);
  label->setWordWrap(false);
  label->setAlignment(Qt::AlignTop | Qt::AlignHCenter);
  label->setForegroundRole(QPalette::Link);
  return label;
}

}  // namespace

QStringList demo_files(const QString& folder) {
  QDir above(folder);
  for (int i = 0; i <= kFoldersAbove; ++i) {
    QStringList files;
    for (const char* name :
         {"plan-tighter.json", "plan.json", "stats.json", "trace.json", "profile.json", "frontier.json"}) {
      const QString file = above.filePath(QStringLiteral("demo/") + QLatin1String(name));
      if (QFileInfo::exists(file)) files << QDir::cleanPath(file);
    }
    if (!files.isEmpty()) return files;
    if (!above.cdUp()) break;
  }
  return {};
}

StartPage::StartPage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(32, 28, 32, 24);
  column->setSpacing(14);
  column->addWidget(
      scaled_paragraph(tr("Where does a decode's memory go, and how small can it be?"), 1.6, content));
  column->addWidget(scaled_paragraph(
      tr("Headroom plans how a VAE decoder runs inside a limit of memory, with the pixels of the untiled "
         "decode. This "
         "window shows what a plan predicts, what a run measured, and what another limit would cost."),
      1, content));

  auto* steps = new QGridLayout;
  steps->setColumnStretch(1, 1);
  steps->setHorizontalSpacing(16);
  steps->setVerticalSpacing(18);
  auto add_step = [&, row = 0](const QString& text, const QList<QWidget*>& below) mutable {
    steps->addWidget(step_number(row + 1, content), row, 0);
    auto* cell = new QVBoxLayout;
    cell->setSpacing(8);
    cell->addWidget(scaled_paragraph(text, 1.08, content));
    for (QWidget* widget : below)
      cell->addWidget(widget, 0, qobject_cast<QPushButton*>(widget) ? Qt::AlignLeft : Qt::Alignment());
    steps->addLayout(cell, row++, 1);
  };
  auto* plan = new QPushButton(tr("&Plan a decode"), content);
  auto* demo = new QPushButton(tr("Open the &demo's files"), content);
  auto* open = new QPushButton(tr("&Open files…"), content);
  demo_note_ = scaled_paragraph({}, 1, content);
  demo_note_->hide();
  add_step(
      tr("Choose a model, a size and a limit, and see the fastest plan that fits, while you move the limit."),
      {plan});
  add_step(tr("Run the plan on the page Run and watch its memory. The demo has the files of such a "
              "run ready."),
           {demo, demo_note_});
  add_step(tr("Look at the moment of the peak: what was on the device, which layer made it, what would lower "
              "it. Files can be "
              "dropped anywhere on this window, also a memory snapshot that PyTorch wrote when it ran out "
              "of memory (.pickle)."),
           {open});
  column->addLayout(steps);

  recent_title_ = scaled_paragraph(tr("Opened before"), 1.35, content);
  recent_ = new QListWidget(content);
  recent_->setAccessibleName(tr("Files opened before"));
  recent_->setTextElideMode(Qt::ElideMiddle);
  column->addWidget(recent_title_);
  column->addWidget(recent_);
  column->addStretch(1);
  content->setMaximumWidth(kWidest);

  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
  scroll->setWidget(content);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);

  connect(plan, &QPushButton::clicked, this, &StartPage::planAsked);
  connect(open, &QPushButton::clicked, this, &StartPage::openAsked);
  connect(demo, &QPushButton::clicked, this, &StartPage::openDemo);
  connect(recent_, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { workspace_.open({item->data(Qt::UserRole).toString()}); });
  setFocusProxy(plan);
  setRecentFiles({});
}

void StartPage::setRecentFiles(const QStringList& files) {
  recent_->clear();
  for (const QString& file : files) {
    auto* item = new QListWidgetItem(QDir::toNativeSeparators(file), recent_);
    item->setData(Qt::UserRole, file);
    item->setToolTip(plain_tooltip(file));
  }
  const int row = std::max(recent_->sizeHintForRow(0), recent_->fontMetrics().height());
  recent_->setFixedHeight(row * static_cast<int>(files.size()) + 2 * recent_->frameWidth() + 2);
  recent_title_->setVisible(!files.isEmpty());
  recent_->setVisible(!files.isEmpty());
}

void StartPage::openDemo() {
  const QStringList files = demo_files(QCoreApplication::applicationDirPath());
  demo_note_->setVisible(files.isEmpty());
  demo_note_->setText(
      tr("There is no folder demo/ beside this program or above it. In Headroom's folder, “make demo” makes "
         "one: it decodes a picture inside a limit and leaves the plan and what was measured."));
  if (!files.isEmpty()) workspace_.open(files);
}

}  // namespace headroom::gui
