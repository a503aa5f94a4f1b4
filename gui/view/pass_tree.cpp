#include "gui/view/pass_tree.h"

#include <QHeaderView>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/figure_text.h"
#include "planner/explain/explain.h"

namespace headroom::gui {
namespace {

using nlohmann::json;

QString text_of(const json& value) {
  return figure_text(value.get<std::string>());
}

QString bytes_of(const json& value) {
  return figure_text(reports::Unit::bytes, value.get<double>());
}

bool is_on_device(const json& entry) {
  return entry["tier"] == name_of(MemoryTier::device);
}

QString read_line(const json& read) {
  QString line = PassTree::tr("read %1").arg(text_of(read["tensor"]));
  if (!is_on_device(read)) {
    line += PassTree::tr(" from %1, %2 at a time").arg(text_of(read["tier"]), bytes_of(read["window_bytes"]));
  }
  return read.value("last_time", false) ? PassTree::tr("%1 (for the last time)").arg(line) : line;
}

QString keep_line(const json& keep) {
  QString line = PassTree::tr("keep %1, %2").arg(text_of(keep["tensor"]), bytes_of(keep["bytes"]));
  if (is_on_device(keep)) {
    line += PassTree::tr(" on the device");
  } else {
    line += PassTree::tr(" in %1, at most %2 of it on the device")
                .arg(text_of(keep["tier"]), bytes_of(keep["window_bytes"]));
  }
  if (keep.contains("rows")) line += PassTree::tr(", rows before row %1").arg(keep["rows"][1].get<int>());
  line += PassTree::tr(", until pass %1").arg(keep["last_pass"].get<int>());
  if (keep.contains("in_place_of"))
    line += PassTree::tr(", in place of %1").arg(text_of(keep["in_place_of"]));
  return line;
}

QStringList lines_of(const json& explained, const Pass& pass, const Graph& graph) {
  QStringList lines;
  QString weights = PassTree::tr("weights %1").arg(bytes_of(explained["weights_bytes"]));
  if (pass.convolutions.algorithm == ConvolutionAlgorithm::winograd)
    weights += PassTree::tr(", kernels in Winograd form");
  if (!pass.convolutions.direct.empty())
    weights += PassTree::tr(", but for %1").arg(QString::fromStdString(planner::direct_names(pass, graph)));
  lines << weights;
  for (const json& read : explained["reads"]) lines << read_line(read);
  for (const Step& step : pass.steps)
    lines << with_short_names(QString::fromStdString(planner::step_text(step, graph)));
  for (const json& keep : explained["keeps"]) lines << keep_line(keep);
  return lines;
}

}  // namespace

PassTree::PassTree(QWidget* parent) : QTreeWidget(parent) {
  setHeaderLabels({tr("Pass"), tr("Peak"), tr("Time")});
  setUniformRowHeights(true);
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(0, QHeaderView::Stretch);
  header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
}

void PassTree::setPlan(const reports::DocumentPtr& document) {
  clear();
  if (document == nullptr) return;
  const auto& [plan, model, found] = *document->as<reports::PlanDocument>();
  const json explained = planner::explain_json(plan, model);
  const auto decides = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    const QString peak = figure_text(reports::Unit::bytes, double(pass.predicted_peak_bytes));
    const bool decides_peak = &pass == &*decides;
    auto* item = new QTreeWidgetItem(this, {QString("%1  %2").arg(i).arg(figure_text(pass.name)),
                                            decides_peak ? tr("%1 ◀").arg(peak) : peak,
                                            figure_text(reports::Unit::seconds, pass.predicted_seconds)});
    item->setToolTip(0, plain_tooltip(QString("%1  %2").arg(i).arg(QString::fromStdString(pass.name))));
    if (decides_peak) item->setToolTip(1, tr("The highest of all passes: it decides the peak."));
    for (const int column : {1, 2}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    for (const QString& line : lines_of(explained["passes"][i], pass, model.graph)) {
      auto* below = new QTreeWidgetItem(item, {with_short_names(line)});
      below->setToolTip(0, plain_tooltip(line));
      below->setFirstColumnSpanned(true);
    }
  }
}

int PassTree::pass() const {
  QTreeWidgetItem* item = currentItem();
  if (item != nullptr && item->parent() != nullptr) item = item->parent();
  return indexOfTopLevelItem(item);
}

void PassTree::choosePass(int pass) {
  if (pass != this->pass()) setCurrentItem(topLevelItem(pass));
}

}  // namespace headroom::gui
