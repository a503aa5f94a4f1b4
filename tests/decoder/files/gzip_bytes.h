#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

namespace headroom::test {

/// `text` as gzip packs it.
inline std::string gzip_bytes(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A gzip file that unpacks to so many MiB of one character, a thousand times its size: members of 16 MiB.
inline std::string gzip_bomb(char filling, int mebibytes) {
  const std::string member = gzip_bytes(std::string(size_t{16} << 20, filling));
  std::string packed;
  for (int i = 0; i < mebibytes; i += 16) packed += member;
  return packed;
}

}  // namespace headroom::test
