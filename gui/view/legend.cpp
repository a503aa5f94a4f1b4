#include "gui/view/legend.h"

#include <QHelpEvent>
#include <QPainter>

#include "gui/view/colours.h"
#include "gui/view/kind_words.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {

LegendEntry colour_entry(const QString& text, const std::function<QColor(const QPalette&)>& colour) {
  return {text, [colour](QPainter& painter, const QRectF& swatch, const QPalette& palette) {
            painter.fillRect(swatch, colour(palette));
          }};
}

std::vector<LegendEntry> kind_entries(const std::vector<MemoryKind>& kinds) {
  std::vector<LegendEntry> entries;
  for (const MemoryKind kind : kinds) {
    entries.push_back(colour_entry(KindWords::name(kind), [kind](const QPalette& palette) {
      return colour_of(reports::colour_role_of(kind), palette);
    }));
    entries.back().explanation = KindWords::explanation(kind);
  }
  return entries;
}

Legend::Legend(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void Legend::setEntries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  QStringList words;
  for (const LegendEntry& entry : entries_) words << entry.text;
  setAccessibleName(words.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

std::vector<QPoint> Legend::places(int width) const {
  const int line = fontMetrics().height();
  std::vector<QPoint> found;
  int x = 0, y = 0;
  for (const LegendEntry& entry : entries_) {
    const int needed = line * 5 / 4 + fontMetrics().horizontalAdvance(entry.text);
    if (x > 0 && x + needed > width) {
      x = 0;
      y += line * 5 / 4;
    }
    found.emplace_back(x, y);
    x += needed + line;
  }
  return found;
}

QString Legend::explanationAt(const QPoint& position) const {
  const std::vector<QPoint> found = places(width());
  const int line = fontMetrics().height();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const int across = line * 5 / 4 + fontMetrics().horizontalAdvance(entries_[i].text);
    if (QRect(found[i], QSize(across, line)).contains(position)) return entries_[i].explanation;
  }
  return {};
}

bool Legend::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  show_tooltip(help->globalPos(), explanationAt(help->pos()), this);
  return true;
}

int Legend::heightForWidth(int width) const {
  const std::vector<QPoint> found = places(width);
  return (found.empty() ? 0 : found.back().y()) + fontMetrics().height() * 5 / 4;
}

QSize Legend::sizeHint() const {
  return {fontMetrics().height() * 40, heightForWidth(std::max(width(), fontMetrics().height() * 40))};
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const std::vector<QPoint> found = places(width());
  const int line = fontMetrics().height();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const QRectF swatch(found[i].x(), found[i].y() + line / 6.0, line * 0.9, line * 0.7);
    painter.save();
    entries_[i].draw(painter, swatch, palette());
    painter.restore();
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QPoint(found[i].x() + line * 5 / 4, found[i].y() + fontMetrics().ascent()),
                     entries_[i].text);
  }
}

void Legend::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  setMinimumHeight(heightForWidth(width()));
}

}  // namespace headroom::gui
