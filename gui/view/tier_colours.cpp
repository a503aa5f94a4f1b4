#include "gui/view/tier_colours.h"

#include "gui/view/chart_view.h"
#include "gui/view/decoder_canvas.h"

namespace headroom::gui {

QColor colour_of(MemoryTier tier, const QPalette& palette) {
  switch (tier) {
    case MemoryTier::device:
      return colour_of(reports::ColourRole::kept, palette);
    case MemoryTier::host:
      return colour_of(reports::ColourRole::latent, palette);
    case MemoryTier::scratch:
      return colour_of(reports::ColourRole::workspace, palette);
  }
  return colour_of(reports::ColourRole::neutral, palette);
}

QString words_of(MemoryTier tier) {
  switch (tier) {
    case MemoryTier::device:
      return DecoderCanvas::tr("on the device");
    case MemoryTier::host:
      return DecoderCanvas::tr("in host memory");
    case MemoryTier::scratch:
      return DecoderCanvas::tr("in the scratch file");
  }
  return {};
}

}  // namespace headroom::gui
