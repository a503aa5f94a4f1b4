#include "gui/view/decoder_canvas.h"

#include <algorithm>
#include <map>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

constexpr double kMostLaneWidth = 12, kKeptShare = 0.14, kBarsShare = 0.24;

/// Lays out the nodes of one pass, column by column, in lines.
class BandLayout {
 public:
  BandLayout(const reports::DrawnPass& pass, const reports::DecoderPicture& picture,
             const QStringList& labels, const QFontMetricsF& metrics)
      : picture_(picture), metrics_(metrics) {
    for (size_t i = pass.first_node; i < pass.first_node + pass.nodes; ++i) {
      Column& column = columns_[picture.nodes[i].column];
      column.members.push_back(i);
      column.width = std::max(
          column.width, metrics.horizontalAdvance(labels[static_cast<qsizetype>(i)]) + metrics.height());
    }
  }

  /// Returns the band's lower edge.
  double place(DecoderLayout& layout, double top) const {
    const double gap = metrics_.height(), row = metrics_.height() * 1.35, between = metrics_.height() * 0.5;
    double left = layout.nodes_left, line_top = top + between, line_height = row;
    size_t line = 0;
    for (const auto& [number, column] : columns_) {
      const double room = layout.nodes_right - layout.nodes_left;
      const double width = std::min(column.width, room);
      if (left > layout.nodes_left && left + width > layout.nodes_right) {
        left = layout.nodes_left + gap;  // continued lines are indented
        line_top += line_height + between;
        line_height = row;
        ++line;
      }
      for (const size_t i : column.members) {
        const double y = line_top + double(picture_.nodes[i].lane) * row;
        const double fits = std::min(width, layout.nodes_right - left);
        layout.nodes[i] = QRectF(left, y, fits, metrics_.height() * 1.2);
        layout.lines[i] = line;
        line_height = std::max(line_height, y + row - line_top);
      }
      left += width + gap;
    }
    return line_top + line_height + between * 0.6;
  }

 private:
  struct Column {
    std::vector<size_t> members;
    double width = 0;
  };
  const reports::DecoderPicture& picture_;
  const QFontMetricsF& metrics_;
  std::map<size_t, Column> columns_;
};

void place_columns(const reports::DecoderPicture& picture, const QFontMetricsF& metrics, double width,
                   DecoderLayout& layout) {
  const double em = metrics.height();
  double bytes_width = 0;
  for (const reports::DrawnPass& pass : picture.passes) {
    const std::string shape = reports::shape_text(pass.channels, pass.extent);
    for (const std::string& text : {pass.stage, shape})
      layout.stage_width =
          std::max(layout.stage_width, metrics.horizontalAdvance(QString::fromStdString(text)));
    bytes_width = std::max(
        bytes_width, metrics.horizontalAdvance(figure_text(reports::Unit::bytes, double(pass.peak_bytes))));
  }
  layout.stage_width = std::min(layout.stage_width + em * 0.8, width * 0.2);
  layout.number_width = metrics.horizontalAdvance(QString::number(picture.passes.size())) + em * 0.6;
  layout.nodes_left = layout.stage_width + layout.number_width;
  layout.bytes_right = width - em * 0.4;
  // The column is wide enough for bold text, which marks the peak.
  layout.bars_right = layout.bytes_right - bytes_width * 1.15 - em * 0.5;
  layout.bars_left = layout.bars_right - width * kBarsShare;
  const auto lanes = double(std::max<size_t>(picture.kept_lanes, 1));
  layout.lane_width = std::min(kMostLaneWidth, width * kKeptShare / lanes);
  layout.kept_left = layout.bars_left - em * 0.5 - layout.lane_width * lanes;
  layout.nodes_right = layout.kept_left - em * 0.5;
}

}  // namespace

int DecoderLayout::pass_at(const QPointF& point) const {
  for (size_t i = 0; i < bands.size(); ++i) {
    if (bands[i].contains(point)) return static_cast<int>(i);
  }
  return -1;
}

int DecoderLayout::node_at(const QPointF& point) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].contains(point)) return static_cast<int>(i);
  }
  return -1;
}

DecoderLayout decoder_layout(const reports::DecoderPicture& picture, const QStringList& labels,
                             const QFontMetricsF& metrics, double width) {
  DecoderLayout layout;
  layout.nodes.resize(picture.nodes.size());
  layout.lines.resize(picture.nodes.size());
  place_columns(picture, metrics, width, layout);
  double top = 0;
  for (const reports::DrawnPass& pass : picture.passes) {
    const double bottom = BandLayout(pass, picture, labels, metrics).place(layout, top);
    layout.bands.emplace_back(0, top, width, bottom - top);
    top = bottom;
  }
  layout.height = top;
  return layout;
}

}  // namespace headroom::gui
