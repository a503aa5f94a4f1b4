#pragma once

#include <QFontMetricsF>
#include <QPointF>
#include <QRectF>
#include <QStringList>
#include <vector>

#include "reports/figures/decoder_picture.h"

namespace headroom::gui {

/// Layout of a decoder's picture for a given width: a band for each pass, from the latent down.
///
///     | stage | no | nodes, column by column, in lines | kept tensors | memory at the pass's peak | bytes |
struct DecoderLayout {
  std::vector<QRectF> bands;  ///< by pass
  std::vector<QRectF> nodes;
  std::vector<size_t> lines;  ///< by node: its line within the band
  double stage_width = 0, number_width = 0;
  double nodes_left = 0, nodes_right = 0;
  double kept_left = 0, lane_width = 0;
  double bars_left = 0, bars_right = 0, bytes_right = 0;
  double height = 0;

  /// The pass and the node at a point; -1 for none.
  int pass_at(const QPointF& point) const;
  int node_at(const QPointF& point) const;
};

/// `labels` are the texts on the nodes.
DecoderLayout decoder_layout(const reports::DecoderPicture& picture, const QStringList& labels,
                             const QFontMetricsF& metrics, double width);

}  // namespace headroom::gui
