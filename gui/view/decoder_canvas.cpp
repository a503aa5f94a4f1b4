#include "gui/view/decoder_canvas.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "decoder/graph/geometry.h"
#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/colours.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr float kPeakTint = 0.16F, kStripe = 0.5F, kFaintLine = 0.35F, kEdge = 0.6F;
constexpr double kSmallestFont = 6, kLargestFont = 24;

QColor faint(QColor colour, float alpha) {
  colour.setAlphaF(alpha);
  return colour;
}

}  // namespace

DecoderCanvas::DecoderCanvas(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("The decoder, pass by pass"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::MinimumExpanding);
}

void DecoderCanvas::setPicture(std::shared_ptr<const reports::DecoderPicture> picture,
                               reports::DocumentPtr document) {
  picture_ = std::move(picture);
  plan_ = std::move(document);
  pass_ = node_ = -1;
  labels_.clear();
  if (picture_ != nullptr) {
    for (const reports::DrawnNode& node : picture_->nodes) {
      QString label = figure_text(reports::label_of(*picture_, node, plan().model.graph));
      if (node.kind == reports::DrawnKind::write && node.tensor != plan().model.graph.output()) {
        const auto kept =
            std::find_if(picture_->kept.begin(), picture_->kept.end(),
                         [&](const reports::DrawnKept& entry) { return entry.tensor == node.tensor; });
        if (kept != picture_->kept.end())
          label += QStringLiteral("  ") + figure_text(reports::Unit::bytes, double(kept->bytes));
      }
      if (node.again) label.prepend(QStringLiteral("↻ "));
      labels_ << label;
    }
  }
  layOut();
}

void DecoderCanvas::layOut() {
  layout_ = {};
  if (picture_ != nullptr) layout_ = decoder_layout(*picture_, labels_, QFontMetricsF(font()), width());
  updateGeometry();
  setMinimumHeight(static_cast<int>(layout_.height) + 1);
  update();
}

QSize DecoderCanvas::minimumSizeHint() const {
  return {fontMetrics().height() * 30, static_cast<int>(layout_.height) + 1};
}

QRect DecoderCanvas::rectOfPass(int pass) const {
  return pass < 0 ? QRect() : layout_.bands.at(static_cast<size_t>(pass)).toAlignedRect();
}

QRect DecoderCanvas::rectOfNode(int node) const {
  return node < 0 ? QRect() : layout_.nodes.at(static_cast<size_t>(node)).toAlignedRect();
}

void DecoderCanvas::choose(int pass, int node) {
  if (picture_ == nullptr || pass >= std::ssize(picture_->passes) || (pass == pass_ && node == node_)) return;
  pass_ = pass;
  node_ = node;
  setAccessibleDescription(node >= 0 ? describeNode(node) : pass >= 0 ? describePass(pass) : QString());
  update();
  Q_EMIT chosen(pass, node);
}

void DecoderCanvas::zoom(double factor) {
  QFont larger = font();
  larger.setPointSizeF(std::clamp(larger.pointSizeF() * factor, kSmallestFont, kLargestFont));
  setFont(larger);
}

QString DecoderCanvas::describePass(int number) const {
  const reports::DrawnPass& pass = picture_->passes[static_cast<size_t>(number)];
  QStringList lines;
  lines << tr("Pass %1, %2 (%3)").arg(number).arg(figure_text(pass.name), QString::fromStdString(pass.name));
  lines << tr("peak %1 while %2 runs, %3 predicted")
               .arg(figure_text(reports::Unit::bytes, double(pass.peak_bytes)),
                    with_short_names(QString::fromStdString(pass.peak_step)),
                    figure_text(reports::Unit::seconds, pass.seconds));
  if (pass.measured) {
    lines << tr("measured: peak %1 of the decode alone, %2")
                 .arg(figure_text(reports::Unit::bytes, double(pass.measured->peak_bytes)),
                      figure_text(reports::Unit::seconds, pass.measured->seconds));
  }
  if (number + 1 == std::ssize(picture_->passes)) {
    lines << tr("It outputs the picture.");
  } else {
    lines << (pass.ends_at_barrier
                  ? tr("It must end here: the next operations need a whole tensor that this pass computes.")
                  : tr("It ends here because the plan keeps a tensor."));
  }
  return lines.join(QLatin1Char('\n'));
}

QString DecoderCanvas::describeNode(int number) const {
  const reports::DrawnNode& node = picture_->nodes[static_cast<size_t>(number)];
  const Graph& graph = plan().model.graph;
  const Tensor& tensor = graph.tensor(node.tensor);
  const Sizes sizes = sizes_of(graph, plan().plan);
  QStringList lines;
  if (node.kind == reports::DrawnKind::operation) {
    const Op& op = graph.op(node.op);
    lines << QString::fromStdString(op.name) + QStringLiteral("  (") + QLatin1String(name_of(op.kind)) +
                 QLatin1Char(')');
  } else {
    lines << QString::fromStdString(tensor.name);
  }
  if (tensor.statistics) {
    lines << tr("computed over all positions: a barrier; the pass must end before a step can use it");
  } else {
    lines << tr("%1, whole %2")
                 .arg(QString::fromStdString(
                          reports::shape_text(tensor.channels, extent_of(tensor, sizes.latent))),
                      figure_text(reports::Unit::bytes,
                                  double(bytes_of(tensor, sizes.latent, sizes.items, sizes.dtype))));
  }
  if (node.needs_whole) lines << tr("a barrier: it needs all keys and values from an earlier pass");
  if (node.again) lines << tr("recomputed: its result was not kept");
  for (const reports::DrawnKept& kept : picture_->kept) {
    if (node.kind != reports::DrawnKind::operation && kept.tensor == node.tensor) lines << describeKept(kept);
  }
  return lines.join(QLatin1Char('\n'));
}

QString DecoderCanvas::describeKept(const reports::DrawnKept& kept) const {
  QString text = tr("kept %1, %2, from pass %3 to pass %4")
                     .arg(words_of(kept.tier), figure_text(reports::Unit::bytes, double(kept.bytes)))
                     .arg(kept.first_pass)
                     .arg(kept.last_pass);
  if (kept.bytes_at_peak > 0) {
    text += QLatin1Char('\n') + tr("%1 of it on the device at the peak")
                                    .arg(figure_text(reports::Unit::bytes, double(kept.bytes_at_peak)));
  }
  return text;
}

QString DecoderCanvas::textAt(const QPointF& point) const {
  const int pass = layout_.pass_at(point), node = layout_.node_at(point);
  if (node >= 0) return describeNode(node);
  if (pass < 0) return {};
  const double lane = (point.x() - layout_.kept_left) / layout_.lane_width;
  for (const reports::DrawnKept& kept : picture_->kept) {
    if (lane < double(kept.lane) || lane >= double(kept.lane) + 1) continue;
    if (pass < static_cast<int>(kept.first_pass) || pass > static_cast<int>(kept.last_pass)) continue;
    return QString::fromStdString(plan().model.graph.tensor(kept.tensor).name) + QLatin1Char('\n') +
           describeKept(kept);
  }
  return describePass(pass);
}

void DecoderCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(event->rect(), palette().color(QPalette::Base));
  if (picture_ == nullptr) return;
  std::vector<bool> seen;
  for (size_t i = 0; i < layout_.bands.size(); ++i) {
    seen.push_back(layout_.bands[i].intersects(event->rect()));
    if (seen[i]) drawBand(painter, i);
  }
  for (const reports::DrawnKept& kept : picture_->kept) drawKept(painter, kept);
  for (const reports::DrawnEdge& edge : picture_->edges) {
    if (seen[picture_->nodes[edge.from].pass]) drawEdge(painter, edge);
  }
  for (size_t i = 0; i < picture_->nodes.size(); ++i) {
    if (seen[picture_->nodes[i].pass]) drawNode(painter, i);
  }
  if (!reports::is_limit(picture_->limit_bytes)) return;
  int64_t most = picture_->limit_bytes;
  for (const reports::DrawnPass& pass : picture_->passes) most = std::max(most, pass.peak_bytes);
  const double x = layout_.bars_left +
                   (layout_.bars_right - layout_.bars_left) * double(picture_->limit_bytes) / double(most);
  painter.setPen(QPen(colour_of(reports::ColourRole::limit, palette()), 1.5, Qt::DashLine));
  painter.drawLine(QPointF(x, 0), QPointF(x, layout_.height));
}

void DecoderCanvas::drawBand(QPainter& painter, size_t number) const {
  const QRectF& band = layout_.bands[number];
  const reports::DrawnPass& pass = picture_->passes[number];
  if (number % 2 == 1)
    painter.fillRect(band, faint(palette().color(QPalette::AlternateBase), kStripe * 2 - 0.01F));
  if (pass.decides_peak)
    painter.fillRect(band, faint(colour_of(reports::ColourRole::limit, palette()), kPeakTint));
  if (static_cast<int>(number) == pass_) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(band.adjusted(layout_.stage_width, 1, -1, -1));
  }
  const QColor text = palette().color(QPalette::Text);
  const double left = layout_.stage_width;
  painter.setPen(pass.ends_at_barrier ? QPen(text, 2) : QPen(faint(text, kFaintLine), 1, Qt::DashLine));
  if (number + 1 < picture_->passes.size())
    painter.drawLine(QPointF(left, band.bottom()), QPointF(layout_.nodes_right, band.bottom()));
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(QRectF(left, band.top(), layout_.number_width, band.height()), Qt::AlignCenter,
                   QString::number(number));
  drawStage(painter, number);
  drawBar(painter, number);
}

/// Draws a stage's name at its first pass. Adds the shape of the pass's result if it differs from that of the
/// previous pass.
void DecoderCanvas::drawStage(QPainter& painter, size_t number) const {
  const reports::DrawnPass& pass = picture_->passes[number];
  const QRectF& band = layout_.bands[number];
  const double line = fontMetrics().height(), margin = line * 0.4;
  const auto shape = [&](size_t i) {
    return reports::shape_text(picture_->passes[i].channels, picture_->passes[i].extent);
  };
  const bool new_stage = number == 0 || picture_->passes[number - 1].stage != pass.stage;
  const bool new_shape = number == 0 || shape(number - 1) != shape(number);
  QRectF place(margin, band.top() + line * 0.25, layout_.stage_width - margin, line);
  if (new_stage) {
    if (number > 0) {
      painter.setPen(faint(palette().color(QPalette::Text), kFaintLine));
      painter.drawLine(band.topLeft(), QPointF(layout_.stage_width, band.top()));
    }
    QFont bold = painter.font();
    bold.setBold(true);
    painter.save();
    painter.setFont(bold);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(pass.stage));
    painter.restore();
    place.translate(0, line);
  }
  if (!new_shape && !new_stage) return;
  painter.setPen(palette().color(QPalette::PlaceholderText));
  if (place.bottom() > band.bottom() + 1) return;
  painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(shape(number)));
}

void DecoderCanvas::drawEdge(QPainter& painter, const reports::DrawnEdge& edge) const {
  const QRectF &from = layout_.nodes[edge.from], &to = layout_.nodes[edge.to];
  const QPointF begin(from.right(), from.center().y()), end(to.left(), to.center().y());
  const double gap = fontMetrics().height() * 0.45;
  QPainterPath path(begin);
  if (layout_.lines[edge.from] != layout_.lines[edge.to]) {
    // The line goes down between columns, along the gap between lines of nodes, and into the node.
    const double along = to.top() - gap * 0.5 - double(picture_->nodes[edge.to].lane) * to.height();
    path.lineTo(begin + QPointF(gap, 0));
    path.lineTo(begin.x() + gap, along);
    path.lineTo(end.x() - gap, along);
    path.lineTo(end - QPointF(gap, 0));
    path.lineTo(end);
  } else if (edge.skips && std::abs(begin.y() - end.y()) < 1) {
    // The line passes over the nodes in between.
    const double above = from.top() - gap * 0.7;
    path.moveTo(from.right() - gap, from.top());
    path.cubicTo(QPointF(from.right(), above), QPointF(from.right(), above),
                 QPointF(from.right() + gap, above));
    path.lineTo(to.left() - gap, above);
    path.cubicTo(QPointF(to.left(), above), QPointF(to.left(), above), QPointF(to.left() + gap, to.top()));
  } else {
    const double bend = std::max(gap, (end.x() - begin.x()) / 2);
    path.cubicTo(begin + QPointF(bend, 0), end - QPointF(bend, 0), end);
  }
  const bool of_chosen =
      node_ >= 0 && (static_cast<int>(edge.from) == node_ || static_cast<int>(edge.to) == node_);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(of_chosen ? QPen(palette().color(QPalette::Highlight), 2)
                           : QPen(faint(palette().color(QPalette::Text), kEdge), edge.skips ? 1.4 : 1));
  painter.drawPath(path);
}

void DecoderCanvas::drawNode(QPainter& painter, size_t number) const {
  const reports::DrawnNode& node = picture_->nodes[number];
  const QRectF& place = layout_.nodes[number];
  const QColor text = palette().color(QPalette::Text);
  QColor fill = palette().color(QPalette::Button), ink = text;
  QPen border(faint(text, kFaintLine), 1);
  double radius = 3;
  if (node.kind != reports::DrawnKind::operation) {
    const auto entry = std::find_if(picture_->kept.begin(), picture_->kept.end(),
                                    [&](const auto& one) { return one.tensor == node.tensor; });
    const QColor colour = entry == picture_->kept.end() ? colour_of(reports::ColourRole::latent, palette())
                                                        : colour_of(entry->tier, palette());
    const bool writes = node.kind == reports::DrawnKind::write;
    radius = place.height() / 2;
    border = QPen(colour, 1.5);
    fill = writes ? colour : palette().color(QPalette::Base);
    if (writes) ink = ink_on(colour);
  } else if (node.ends_pass || node.needs_whole) {
    border = QPen(text, 1.5);
    fill = faint(text, 0.18F);
    painter.fillRect(place, palette().color(QPalette::Base));
  }
  if (node.again) border.setStyle(Qt::DashLine);
  const reports::DrawnPass& of_pass = picture_->passes[node.pass];
  if (of_pass.decides_peak && of_pass.peak_node == number)
    border = QPen(colour_of(reports::ColourRole::limit, palette()), 2.5);
  if (static_cast<int>(number) == node_) border = QPen(palette().color(QPalette::Highlight), 3);
  painter.setPen(border);
  painter.setBrush(fill);
  painter.drawRoundedRect(place, radius, radius);
  // Bars mark barriers: after a node that completes a tensor, and before a node that needs it whole.
  if (node.ends_pass) painter.fillRect(QRectF(place.right() - 3, place.top(), 4, place.height()), text);
  if (node.needs_whole) painter.fillRect(QRectF(place.left() - 1, place.top(), 4, place.height()), text);
  painter.setPen(ink);
  const QString& label = labels_[static_cast<qsizetype>(number)];
  const double room = place.width() - fontMetrics().height() * 0.5;
  painter.drawText(place, Qt::AlignCenter, fitting_name(label, QFontMetricsF(font()), room));
}

void DecoderCanvas::drawBar(QPainter& painter, size_t number) const {
  const reports::DrawnPass& pass = picture_->passes[number];
  int64_t most = reports::is_limit(picture_->limit_bytes) ? picture_->limit_bytes : 1;
  for (const reports::DrawnPass& other : picture_->passes) most = std::max(most, other.peak_bytes);
  const QRectF& band = layout_.bands[number];
  const double height = std::min(band.height() * 0.7, fontMetrics().height() * 1.2);
  const double scale = (layout_.bars_right - layout_.bars_left) / double(most);
  QRectF part(layout_.bars_left, band.center().y() - height / 2, 0, height);
  for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (pass.use[kind] <= 0) continue;
    part.setWidth(double(pass.use[kind]) * scale);
    painter.fillRect(part, colour_of(reports::colour_role_of(static_cast<MemoryKind>(kind)), palette()));
    part.moveLeft(part.right());
  }
  if (pass.measured) {
    const double x = layout_.bars_left + double(pass.measured->peak_bytes) * scale;
    painter.setPen(QPen(colour_of(reports::ColourRole::driver, palette()), 2));
    painter.drawLine(QPointF(x, part.top() - 2), QPointF(x, part.bottom() + 2));
  }
  painter.save();
  QFont bold = painter.font();
  bold.setBold(pass.decides_peak);
  painter.setFont(bold);
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(
      QRectF(layout_.bars_right, band.top(), layout_.bytes_right - layout_.bars_right, band.height()),
      Qt::AlignRight | Qt::AlignVCenter, figure_text(reports::Unit::bytes, double(pass.peak_bytes)));
  painter.restore();
}

void DecoderCanvas::drawKept(QPainter& painter, const reports::DrawnKept& kept) const {
  const double x = layout_.kept_left + layout_.lane_width * (double(kept.lane) + 0.5);
  const QRectF &first = layout_.bands[kept.first_pass], &last = layout_.bands[kept.last_pass];
  const double width = layout_.lane_width * (kept.bytes_at_peak > 0 ? 0.75 : 0.4);
  const QColor colour = colour_of(kept.tier, palette());
  painter.setPen(Qt::NoPen);
  painter.setBrush(kept.bytes_at_peak > 0 ? colour : faint(colour, 0.6F));
  painter.drawRoundedRect(
      QRectF(x - width / 2, first.center().y(), width, last.center().y() - first.center().y() + 1), 2, 2);
  painter.setBrush(palette().color(QPalette::Base));
  painter.setPen(QPen(colour, 1.5));
  const double radius = std::min(layout_.lane_width * 0.4, fontMetrics().height() * 0.25);
  for (const size_t pass : kept.read_in)
    painter.drawEllipse(QPointF(x, layout_.bands[pass].center().y()), radius, radius);
}

void DecoderCanvas::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) layOut();
}

void DecoderCanvas::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) layOut();
}

void DecoderCanvas::mousePressEvent(QMouseEvent* event) {
  choose(layout_.pass_at(event->position()), layout_.node_at(event->position()));
}

void DecoderCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const int pass = layout_.pass_at(event->position());
  if (pass >= 0) Q_EMIT opened(pass, layout_.node_at(event->position()));
}

void DecoderCanvas::wheelEvent(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier)) return QWidget::wheelEvent(event);
  zoom(event->angleDelta().y() > 0 ? 1.1 : 1 / 1.1);
  event->accept();
}

/// Chooses the next node of the pass, or the previous one if `step` is negative.
void DecoderCanvas::chooseBeside(int step) {
  const reports::DrawnPass& pass = picture_->passes[static_cast<size_t>(std::max(pass_, 0))];
  const int first = static_cast<int>(pass.first_node), last = first + static_cast<int>(pass.nodes) - 1;
  if (node_ < 0) return choose(std::max(pass_, 0), step > 0 ? first : last);
  choose(pass_, std::clamp(node_ + step, first, last));
}

void DecoderCanvas::keyPressEvent(QKeyEvent* event) {
  if (picture_ == nullptr || picture_->passes.empty()) return QWidget::keyPressEvent(event);
  const int last = static_cast<int>(picture_->passes.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Down:
      return choose(std::min(pass_ + 1, last), -1);
    case Qt::Key_Up:
      return choose(std::max(pass_ - 1, 0), -1);
    case Qt::Key_Right:
      return chooseBeside(1);
    case Qt::Key_Left:
      return chooseBeside(-1);
    case Qt::Key_Plus:
      return zoom(1.1);
    case Qt::Key_Minus:
      return zoom(1 / 1.1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (pass_ >= 0) Q_EMIT opened(pass_, node_);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool DecoderCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  show_tooltip(help->globalPos(), textAt(help->pos()), this);
  return true;
}

}  // namespace headroom::gui
