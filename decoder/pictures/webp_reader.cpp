#ifdef HEADROOM_HAS_WEBP
#include <webp/decode.h>
#endif

#include "decoder/base/errors.h"
#include "decoder/pictures/read_picture.h"

namespace headroom {

#ifdef HEADROOM_HAS_WEBP
Pixels read_webp(const std::string& bytes, const std::string& origin, PixelPart part) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK)
    throw InputError(origin + ": not a valid WebP file");
  if (features.has_animation != 0) throw InputError(origin + ": expected one picture, found an animation");
  require_picture_size(features.width, features.height, origin);
  Pixels pixels{features.height, features.width, features.has_alpha != 0 ? 4 : 3, {}};
  if (part == PixelPart::size) return pixels;
  pixels.values.resize(static_cast<size_t>(pixels.rows * pixels.columns * pixels.channels));
  const auto line = static_cast<int>(pixels.columns * pixels.channels);
  const auto decode = pixels.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data, bytes.size(), pixels.values.data(), pixels.values.size(), line) == nullptr)
    throw InputError(origin + ": not a valid WebP file");
  return pixels;
}
#else
Pixels read_webp(const std::string&, const std::string& origin, PixelPart) {
  throw InputError(origin + ": this build reads no WebP files; expected PNG or JPEG");
}
#endif

}  // namespace headroom
