#include "gui/program/run.h"

int main(int argc, char** argv) {
  return headroom::gui::run_gui(argc, argv);
}
