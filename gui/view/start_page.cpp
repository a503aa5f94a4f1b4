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
#include "gui/view/record_box.h"

namespace headroom::gui {
namespace {

constexpr int kFoldersAbove = 4;
constexpr int kWidest = 820;
constexpr double kHeading = 1.35;

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
    for (const char* examples : {"demo/", "docs/tour/"}) {
      QStringList files;
      for (const char* name :
           {"plan-tighter.json", "plan.json", "stats.json", "trace.json", "profile.json", "frontier.json"}) {
        const QString file = above.filePath(QLatin1String(examples) + QLatin1String(name));
        if (QFileInfo::exists(file)) files << QDir::cleanPath(file);
      }
      if (!files.isEmpty()) return files;
    }
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

  auto* steps = new QGridLayout;
  steps->setColumnStretch(1, 1);
  steps->setHorizontalSpacing(16);
  steps->setVerticalSpacing(18);
  auto add_step = [&, row = 0](const QString& heading, const QString& text,
                               const QList<QWidget*>& below) mutable {
    steps->addWidget(step_number(row + 1, content), row, 0);
    auto* cell = new QVBoxLayout;
    cell->setSpacing(8);
    cell->addWidget(scaled_paragraph(heading, kHeading, content));
    if (!text.isEmpty()) cell->addWidget(scaled_paragraph(text, 1, content));
    for (QWidget* widget : below)
      cell->addWidget(widget, 0, qobject_cast<QPushButton*>(widget) ? Qt::AlignLeft : Qt::Alignment());
    steps->addLayout(cell, row++, 1);
  };
  auto* record = new RecordBox(workspace_, content);
  auto* plan = new QPushButton(tr("&Plan a decode"), content);
  plan->setObjectName(QStringLiteral("plan-a-decode"));
  make_primary(*plan);
  auto* demo = new QPushButton(tr("Open an &example"), content);
  demo_note_ = scaled_paragraph({}, 1, content);
  demo_note_->hide();
  add_step(tr("A decode ran out of memory"), {}, {record});
  add_step(tr("Plan a decode"),
           tr("Choose a model, a size and a limit of memory. Headroom finds the fastest decode within the "
              "limit, with the pixels of the untiled decode. The page Run starts it."),
           {plan});
  add_step(tr("Look at an example"),
           tr("The files of a decode within a limit: its plan, its measured memory and the times of its "
              "layers. You can drop other files of Headroom anywhere on this window."),
           {demo, demo_note_});
  column->addLayout(steps);

  recent_title_ = scaled_paragraph(tr("Opened before"), kHeading, content);
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
  connect(record, &RecordBox::openAsked, this, &Page::openAsked);
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
      tr("There is no folder demo/ or docs/tour/ beside this program or above it. “make demo” in Headroom's "
         "folder decodes a picture within a limit and writes demo/."));
  if (!files.isEmpty()) workspace_.open(files);
}

}  // namespace headroom::gui
