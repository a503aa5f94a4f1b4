#pragma once

class QWidget;

namespace headroom::gui {

/// "What the words mean": opens a window without blocking the others.
void show_glossary(QWidget* parent);

/// Version and licences.
void show_about(QWidget* parent);

}  // namespace headroom::gui
