#include "gui/view/documents_dock.h"

#include <QPushButton>
#include <QShortcut>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <array>
#include <map>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

constexpr int kNumber = Qt::UserRole;  ///< index among the open documents

QString title_of_kind(const std::string& kind) {
  if (kind == "plan") return DocumentsDock::tr("Plans");
  if (kind == "stats") return DocumentsDock::tr("Runs");
  if (kind == "trace") return DocumentsDock::tr("Traces");
  if (kind == "profile") return DocumentsDock::tr("Profiles");
  if (kind == "recorded decodes") return DocumentsDock::tr("recorded decodes");
  if (kind == "plan of ranks") return DocumentsDock::tr("Plans of ranks");
  if (kind == "trace of ranks") return DocumentsDock::tr("Traces of ranks");
  if (kind == "memory history") return DocumentsDock::tr("PyTorch's memory");
  return DocumentsDock::tr("Frontiers");
}

reports::DocumentPtr chosen_like(const Workspace& workspace, const reports::Document& document) {
  return std::visit(
      [&](const auto& contents) { return workspace.chosen<std::decay_t<decltype(contents)>>(); },
      document.contents);
}

}  // namespace

DocumentsDock::DocumentsDock(Workspace& workspace, QWidget* parent)
    : QDockWidget(parent), workspace_(workspace) {
  setObjectName(QStringLiteral("documents"));
  auto* content = new QWidget(this);
  tree_ = new QTreeWidget(content);
  tree_->setHeaderHidden(true);
  tree_->setRootIsDecorated(false);
  tree_->setIndentation(12);
  tree_->setTextElideMode(Qt::ElideMiddle);
  tree_->setMinimumWidth(140);
  close_ = new QPushButton(tr("&Close file"), content);
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->addWidget(tree_, 1);
  layout->addWidget(close_);
  setWidget(content);

  connect(tree_, &QTreeWidget::itemClicked, this, &DocumentsDock::chooseItem);
  connect(tree_, &QTreeWidget::itemActivated, this, &DocumentsDock::chooseItem);
  connect(tree_, &QTreeWidget::currentItemChanged, this,
          [this](const QTreeWidgetItem* item) { close_->setEnabled(documentOf(item) != nullptr); });
  connect(close_, &QPushButton::clicked, this, &DocumentsDock::closeCurrent);
  auto* remove = new QShortcut(QKeySequence::Delete, tree_);
  remove->setContext(Qt::WidgetShortcut);
  connect(remove, &QShortcut::activated, this, &DocumentsDock::closeCurrent);
  // Queued, because the list must not be rebuilt while it handles one of its own clicks.
  connect(&workspace_, &Workspace::documentsChanged, this, &DocumentsDock::list, Qt::QueuedConnection);
  setWindowTitle(tr("Open files"));
  tree_->setAccessibleName(windowTitle());
  list();
}

void DocumentsDock::list() {
  const reports::DocumentPtr before = documentOf(tree_->currentItem());
  tree_->clear();
  const std::vector<reports::DocumentPtr>& documents = workspace_.documents();
  std::map<size_t, QTreeWidgetItem*> kinds;  // by index in the variant, which is also their order
  for (const reports::DocumentPtr& document : documents) {
    if (!document->rank) kinds[document->contents.index()] = nullptr;
  }
  for (auto& [index, kind] : kinds) {
    kind = new QTreeWidgetItem(tree_);
    kind->setFlags(Qt::ItemIsEnabled);
    kind->setExpanded(true);
  }
  QTreeWidgetItem* file = nullptr;  // file of several ranks; its parts follow
  for (size_t i = 0; i < documents.size(); ++i) {
    const reports::Document& document = *documents[i];
    QTreeWidgetItem* above = document.rank ? file : kinds[document.contents.index()];
    if (!document.rank) above->setText(0, title_of_kind(reports::kind_of(document)));
    const bool chosen = chosen_like(workspace_, document) == documents[i];
    const QString name = document.rank ? tr("Rank %1").arg(*document.rank) : Workspace::titleOf(document);
    auto* item = new QTreeWidgetItem(above, {(chosen ? QStringLiteral("● ") : QStringLiteral("○ ")) + name});
    if (!document.rank) file = item;
    item->setExpanded(true);
    QFont font = item->font(0);
    font.setBold(chosen);
    item->setFont(0, font);
    item->setData(0, kNumber, static_cast<int>(i));
    const QString summary_line = QString::fromStdString(reports::summary(document));
    item->setToolTip(
        0, plain_tooltip(summary_line + QLatin1Char('\n') + QString::fromStdString(document.file.string())));
    item->setData(0, Qt::AccessibleDescriptionRole, chosen ? tr("chosen") : QString());
    if (documents[i] == before) tree_->setCurrentItem(item);
  }
  close_->setEnabled(documentOf(tree_->currentItem()) != nullptr);
}

reports::DocumentPtr DocumentsDock::documentOf(const QTreeWidgetItem* item) const {
  const QVariant number = item == nullptr ? QVariant() : item->data(0, kNumber);
  if (!number.isValid() || number.toUInt() >= workspace_.documents().size()) return nullptr;
  return workspace_.documents()[number.toUInt()];
}

void DocumentsDock::chooseItem(const QTreeWidgetItem* item) {
  const reports::DocumentPtr document = documentOf(item);
  if (document == nullptr) return;
  if (chosen_like(workspace_, *document) != document) workspace_.choose(document);
  Q_EMIT message(QString::fromStdString(reports::summary(*document)));
}

void DocumentsDock::closeCurrent() {
  const reports::DocumentPtr document = documentOf(tree_->currentItem());
  if (document == nullptr) return;
  workspace_.close(document);
}

}  // namespace headroom::gui
