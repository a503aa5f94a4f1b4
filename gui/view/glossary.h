#pragma once

class QWidget;

namespace headroom::gui {

/// "What the words mean": a window beside the others, which goes on working.
void show_glossary(QWidget* parent);

/// Version and licences.
void show_about(QWidget* parent);

}  // namespace headroom::gui
