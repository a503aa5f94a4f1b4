#include "gui/view/kind_words.h"

#include "gui/model/figure_text.h"

namespace headroom::gui {

QString KindWords::name(MemoryKind kind) {
  if (kind == MemoryKind::slack) return tr("slack: reserved, unused");
  return figure_text(title_of(kind));
}

QString KindWords::explanation(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights:
      return tr("Parameters of the decoder on the device.");
    case MemoryKind::latent:
      return tr("The input of the decode.");
    case MemoryKind::kept:
      return tr("Tensors that stay in memory between passes: one pass stores them for later ones.");
    case MemoryKind::tile:
      return tr("Inputs and outputs of the steps of the current tile.");
    case MemoryKind::workspace:
      return tr("Memory that a step takes while it runs, besides its inputs and outputs.");
    case MemoryKind::slack:
      return tr("Bytes of the reservation that nothing uses at the moment.");
    case MemoryKind::libraries:
      return tr("Memory that cuDNN, cuBLAS and other libraries take from the driver.");
    case MemoryKind::context:
      return tr("The rest of the memory that the driver counts: the CUDA context and the code of kernels.");
    case MemoryKind::outside:
      return tr(
          "Memory of the process outside of the decode's own allocations. A plan reserves bytes for it.");
  }
  return {};
}

std::optional<MemoryKind> KindWords::kindOf(const std::string& title) {
  for (size_t i = 0; i < kMemoryKinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    if (title == title_of(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace headroom::gui
