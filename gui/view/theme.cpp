#include "gui/view/theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>

namespace headroom::gui {
namespace {

struct WindowShades {
  const char *window, *base, *alternate, *button, *text, *faint, *highlight, *on_highlight, *link, *tooltip;
};

constexpr WindowShades kLight{"#f4f5f7", "#ffffff", "#f0f2f5", "#e9ebef", "#1c2026",
                              "#8a9099", "#1f6fb2", "#ffffff", "#0b5ea8", "#ffffff"};
constexpr WindowShades kDark{"#24272c", "#1a1d21", "#20242a", "#31353c", "#e4e7eb",
                             "#7d848e", "#3a7ebf", "#ffffff", "#79b8f3", "#2e333a"};

QPalette palette_of(const WindowShades& shades) {
  const QColor text(shades.text), faint(shades.faint), window(shades.window), button(shades.button);
  QPalette palette(button, window);
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, text);
  palette.setColor(QPalette::Base, QColor(shades.base));
  palette.setColor(QPalette::AlternateBase, QColor(shades.alternate));
  palette.setColor(QPalette::Text, text);
  palette.setColor(QPalette::PlaceholderText, faint);
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::ButtonText, text);
  palette.setColor(QPalette::BrightText, Qt::red);
  palette.setColor(QPalette::Highlight, QColor(shades.highlight));
  palette.setColor(QPalette::HighlightedText, QColor(shades.on_highlight));
  palette.setColor(QPalette::Link, QColor(shades.link));
  palette.setColor(QPalette::LinkVisited, QColor(shades.link));
  palette.setColor(QPalette::ToolTipBase, QColor(shades.tooltip));
  palette.setColor(QPalette::ToolTipText, text);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, faint);
  palette.setColor(QPalette::Disabled, QPalette::Highlight, button);
  palette.setColor(QPalette::Disabled, QPalette::HighlightedText, faint);
  return palette;
}

}  // namespace

QString name_of(Theme theme) {
  switch (theme) {
    case Theme::light:
      return QStringLiteral("light");
    case Theme::dark:
      return QStringLiteral("dark");
    case Theme::system:
      break;
  }
  return QStringLiteral("system");
}

Theme theme_named(const QString& name) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    if (name == name_of(theme)) return theme;
  }
  return Theme::system;
}

void apply_theme(Theme theme) {
  static const QString desktop_style = QApplication::style()->objectName();  // before it was ever changed
  if (theme == Theme::system) {
    QApplication::setStyle(QStyleFactory::create(desktop_style));
    QApplication::setPalette(QPalette());
    return;
  }
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(palette_of(theme == Theme::light ? kLight : kDark));
}

}  // namespace headroom::gui
