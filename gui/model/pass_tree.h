#pragma once

#include <QAbstractItemModel>
#include <QStringList>
#include <vector>

#include "reports/figures/document.h"

namespace headroom::gui {

/// The passes of a plan with what each reads, runs and keeps below it, as `headroom-plan explain` has them.
class PassTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  explicit PassTree(QObject* parent = nullptr) : QAbstractItemModel(parent) {}
  /// Null clears it.
  void setPlan(const reports::DocumentPtr& plan);
  /// Passes that stand out: those that read what is chosen elsewhere.
  void setMarked(std::vector<int32_t> passes);
  /// The pass that an index is of; -1 for none.
  static int pass_of(const QModelIndex& index);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Entry {
    QString name, full_name, peak, time;
    QStringList lines;
    bool decides_peak = false;
  };
  std::vector<Entry> passes_;
  std::vector<int32_t> marked_;
};

}  // namespace headroom::gui
