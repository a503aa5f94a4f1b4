#include "gui/view/grid_view.h"

#include <QLabel>
#include <QPainter>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "decoder/schedule/tiles.h"
#include "gui/view/colours.h"
#include "gui/view/legend.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr float kFaint = 0.45F;
constexpr double kClosestLines = 4;  // in pixels; closer lines would merge into grey

QColor faint(reports::ColourRole role, const QPalette& palette) {
  QColor colour = colour_of(role, palette);
  colour.setAlphaF(kFaint);
  return colour;
}

/// The smallest interval that contains both.
Interval around(const Interval& a, const Interval& b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Extent grid_extent(const reports::PlanDocument& document, const Pass& pass) {
  const Extent latent = sizes_of(document.model.graph, document.plan).latent;
  return per_axis([](int64_t length, int32_t scale) { return length * scale; }, latent, pass.scale);
}

}  // namespace

GridTile grid_tile(const reports::PlanDocument& document, size_t number, size_t tile) {
  const Graph& graph = document.model.graph;
  const Pass& pass = document.plan.passes[number];
  const Extent latent = sizes_of(graph, document.plan).latent, grid = grid_extent(document, pass);
  GridTile found;
  found.row = tile / pass.tiles.x.size();
  found.column = tile % pass.tiles.x.size();
  found.own = {pass.tiles.t.front(), pass.tiles.y[found.row], pass.tiles.x[found.column]};
  found.read = found.own;
  for (const Step& step : pass.steps) {
    if (graph.tensor(step.tensor).statistics) continue;
    const Region region = tile_region(graph, pass, step, found.own, latent);
    found.read = per_axis(
        [](const Interval& so_far, const Interval& positions, int32_t tensor_scale, int32_t grid_scale,
           int64_t length) {
          if (positions.length() == 0) return so_far;
          return intersect(around(so_far, image(positions, grid_scale, tensor_scale)), {0, length});
        },
        found.read, region, graph.tensor(step.tensor).scale, pass.scale, grid);
  }
  return found;
}

/// The drawing. Tiles form a grid of rows and columns, so it draws lines, not single tiles. Ten thousand
/// tiles cost as much as ten.
class GridView::Canvas : public QWidget {
 public:
  explicit Canvas(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  }

  void show_pass(const reports::DocumentPtr& plan, size_t pass) {
    plan_ = plan;
    pass_ = pass;
    if (plan_ != nullptr) grid_ = grid_extent(document(), current());
    show_tile(0);
  }

  void show_tile(size_t tile) {
    number_ = tile;
    if (plan_ != nullptr) tile_ = grid_tile(document(), pass_, tile);
    update();
  }

  bool empty() const { return plan_ == nullptr; }
  int tiles() const {
    return empty() ? 0 : static_cast<int>(current().tiles.y.size() * current().tiles.x.size());
  }
  /// A tile of a clip may run in several chunks of frames.
  int64_t chunk_frames() const { return current().tiles.t.front().length(); }
  size_t chunks() const { return current().tiles.t.size(); }
  size_t number() const { return number_; }
  const GridTile& tile() const { return tile_; }

  QSize sizeHint() const override { return QSize(16, 12) * fontMetrics().height(); }
  QSize minimumSizeHint() const override { return QSize(8, 6) * fontMetrics().height(); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    if (empty()) return;
    place();
    painter.fillRect(area_, palette().color(QPalette::AlternateBase));
    drawDone(painter);
    painter.fillRect(halo_rect(), faint(reports::ColourRole::workspace, palette()));
    painter.fillRect(rect_of(tile_.own), colour_of(reports::ColourRole::tile, palette()));
    drawLines(painter);
  }

 private:
  const reports::PlanDocument& document() const { return *plan_->as<reports::PlanDocument>(); }
  const Pass& current() const { return document().plan.passes[pass_]; }

  /// The picture in its own shape, as large as it fits.
  void place() {
    const double margin = fontMetrics().height() / 3.0;
    const QRectF free = QRectF(rect()).adjusted(margin, margin, -margin, -margin);
    const double scale = std::min(free.width() / double(grid_.x), free.height() / double(grid_.y));
    const QSizeF size(double(grid_.x) * scale, double(grid_.y) * scale);
    area_ = QRectF(free.center() - QPointF(size.width(), size.height()) / 2, size);
  }

  double across(int64_t x) const { return area_.left() + area_.width() * double(x) / double(grid_.x); }
  double down(int64_t y) const { return area_.top() + area_.height() * double(y) / double(grid_.y); }
  QRectF rect_of(const Region& region) const {
    return {QPointF(across(region.x.begin), down(region.y.begin)),
            QPointF(across(region.x.end), down(region.y.end))};
  }

  /// The halo's rectangle, widened if needed to stay visible.
  QRectF halo_rect() const {
    constexpr double kSeen = 3;
    QRectF read = rect_of(tile_.read);
    const QRectF own = rect_of(tile_.own);
    if (tile_.read.x.begin < tile_.own.x.begin) read.setLeft(std::min(read.left(), own.left() - kSeen));
    if (tile_.read.x.end > tile_.own.x.end) read.setRight(std::max(read.right(), own.right() + kSeen));
    if (tile_.read.y.begin < tile_.own.y.begin) read.setTop(std::min(read.top(), own.top() - kSeen));
    if (tile_.read.y.end > tile_.own.y.end) read.setBottom(std::max(read.bottom(), own.bottom() + kSeen));
    return read;
  }

  void drawDone(QPainter& painter) const {
    const QColor done = faint(reports::ColourRole::kept, palette());
    const Region& own = tile_.own;
    painter.fillRect(rect_of({own.t, {0, own.y.begin}, {0, grid_.x}}), done);
    painter.fillRect(rect_of({own.t, own.y, {0, own.x.begin}}), done);
  }

  /// Draws lines between tiles. If they are too close, draws every second, fourth … line.
  void drawLines(QPainter& painter) const {
    QColor line = palette().color(QPalette::Text);
    line.setAlphaF(0.35F);
    painter.setPen(QPen(line, 0));
    const auto step = [](const std::vector<Interval>& intervals, double length) {
      size_t every = 1;
      while (length * double(every) / double(intervals.size()) < kClosestLines) every *= 2;
      return every;
    };
    const auto &columns = current().tiles.x, &rows = current().tiles.y;
    for (size_t i = 0; i < columns.size(); i += step(columns, area_.width())) {
      const double x = across(columns[i].begin);
      painter.drawLine(QPointF(x, area_.top()), QPointF(x, area_.bottom()));
    }
    for (size_t i = 0; i < rows.size(); i += step(rows, area_.height())) {
      const double y = down(rows[i].begin);
      painter.drawLine(QPointF(area_.left(), y), QPointF(area_.right(), y));
    }
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(area_);
  }

  reports::DocumentPtr plan_;
  size_t pass_ = 0, number_ = 0;
  Extent grid_;
  GridTile tile_;
  QRectF area_;
};

GridView::GridView(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins({});
  canvas_ = new Canvas(this);
  column->addWidget(canvas_, 1);
  auto* legend = new Legend(this);
  legend->setEntries(
      {colour_entry(tr("done"), [](const QPalette& p) { return faint(reports::ColourRole::kept, p); }),
       colour_entry(tr("current tile"),
                    [](const QPalette& p) { return colour_of(reports::ColourRole::tile, p); }),
       colour_entry(tr("its halo"),
                    [](const QPalette& p) { return faint(reports::ColourRole::workspace, p); })});
  column->addWidget(legend);
  slider_ = new QSlider(Qt::Horizontal, this);
  slider_->setObjectName("tile");
  slider_->setAccessibleName(tr("Tile"));
  slider_->setToolTip(tr("The selected tile. The arrow keys select the previous or next one."));
  column->addWidget(slider_);
  words_ = new PlainLabel(this);
  words_->setWordWrap(true);
  words_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  // A minimum height keeps the grid in place from tile to tile.
  words_->setMinimumHeight(2 * words_->fontMetrics().lineSpacing());
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  column->addWidget(words_);
  connect(slider_, &QSlider::valueChanged, this, [this](int tile) {
    canvas_->show_tile(static_cast<size_t>(tile));
    describe();
  });
  setPass(nullptr, 0);
}

void GridView::setPass(const reports::DocumentPtr& plan, size_t pass) {
  const QSignalBlocker blocker(slider_);
  // A rank without rows has passes without tiles.
  const bool any_tiles =
      plan != nullptr && !plan->as<reports::PlanDocument>()->plan.passes[pass].tiles.y.empty();
  canvas_->show_pass(any_tiles ? plan : nullptr, any_tiles ? pass : 0);
  slider_->setRange(0, std::max(tiles() - 1, 0));
  slider_->setPageStep(std::max(tiles() / 20, 1));
  slider_->setValue(0);
  slider_->setEnabled(tiles() > 1);
  describe();
}

int GridView::tile() const {
  return slider_->value();
}

int GridView::tiles() const {
  return canvas_->tiles();
}

void GridView::setTile(int tile) {
  slider_->setValue(tile);
}

void GridView::describe() {
  if (canvas_->empty()) return words_->setText({});
  const GridTile& tile = canvas_->tile();
  const auto area = [](const Region& region) {
    return double(region.y.length()) * double(region.x.length());
  };
  const double more = area(tile.read) / area(tile.own) - 1;
  QString text = tr("Tile %1 of %2: rows %3 to %4, columns %5 to %6; with its halo %7 % more positions.")
                     .arg(canvas_->number() + 1)
                     .arg(canvas_->tiles())
                     .arg(tile.own.y.begin)
                     .arg(tile.own.y.end - 1)
                     .arg(tile.own.x.begin)
                     .arg(tile.own.x.end - 1)
                     .arg(std::lround(100 * more));
  if (canvas_->chunks() > 1) {
    text +=
        QLatin1Char(' ') +
        tr("Its frames come in %1 chunks, %2 at a time.").arg(canvas_->chunks()).arg(canvas_->chunk_frames());
  }
  words_->setText(text);
}

}  // namespace headroom::gui
