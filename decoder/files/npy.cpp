#include "decoder/files/npy.h"

#include <charconv>
#include <stdexcept>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kLargestHeader = 64 * 1024;
constexpr size_t kMostExtents = 16;

/// Reads the header's Python dictionary. numpy always writes it in this form; only the order of the keys
/// varies:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 8, 8), }
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& origin) : rest_(text), origin_(origin) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect("{");
    while (!accept("}")) {
      const std::string key = quoted();
      expect(":");
      if (key == "descr" && !has_descr) {
        has_descr = true;
        header.descr = descr();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        if (accept("True")) fail("fortran_order: expected False (C order), found True");
        expect("False");
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = shape();
      } else {
        fail("header: expected descr, fortran_order and shape once each, found " + printable(key));
      }
      if (accept(",")) continue;
      expect("}");
      break;
    }
    skip_spaces();
    if (!rest_.empty()) fail("header: expected nothing after the dictionary");
    if (!has_descr || !has_order || !has_shape) fail("header: expected descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputError(origin_ + ": " + what); }

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail("header: expected '" + std::string(token) + "' before '" + printable(rest_.substr(0, 20)) + "'");
  }

  std::string quoted() {
    const char quote = accept("'") ? '\'' : '"';
    if (quote == '"') expect("\"");
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("header: a string does not end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string descr() {
    skip_spaces();
    // Structured dtypes have a list here.
    const bool is_string = rest_.starts_with('\'') || rest_.starts_with('"');
    std::string found = is_string ? quoted() : std::string(rest_.substr(0, 20));
    if (found != "<f2" && found != "<f4" && found != "<f8") {
      fail("dtype: expected '<f2', '<f4' or '<f8', found '" + printable(found) + "'");
    }
    return found;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> extents;
    expect("(");
    while (!accept(")")) {
      skip_spaces();
      int64_t extent = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) fail("shape: expected integers from 0 below 2^63");
      if (extents.size() == kMostExtents)
        fail("shape: expected at most " + std::to_string(kMostExtents) + " extents");
      extents.push_back(extent);
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (accept(",")) continue;
      expect(")");
      break;
    }
    return extents;
  }

  std::string_view rest_;
  std::string origin_;
};

}  // namespace

int64_t npy_header_bytes(std::string_view start, const std::string& origin) {
  if (start.size() < 10 || !start.starts_with(kMagic)) throw InputError(origin + ": expected a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(start[i])); };
  const size_t version = byte(6);
  if ((version != 1 && version != 2) || byte(7) != 0) {
    throw InputError(origin + ": version: expected 1.0 or 2.0, found " + std::to_string(version) + "." +
                     std::to_string(byte(7)));
  }
  const size_t begin = version == 1 ? 10 : 12;
  if (start.size() < begin) throw InputError(origin + ": header: the file ends inside it");
  size_t length = byte(8) | byte(9) << 8;
  if (version == 2) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kLargestHeader) {
    throw InputError(origin + ": header: expected at most " + std::to_string(kLargestHeader) +
                     " bytes, found " + std::to_string(length));
  }
  return static_cast<int64_t>(begin + length);
}

NpyHeader parse_npy_header(std::string_view start, const std::string& origin) {
  const auto end = static_cast<size_t>(npy_header_bytes(start, origin));
  if (start.size() < end) throw InputError(origin + ": header: the file ends inside it");
  const size_t begin = start[6] == 1 ? 10 : 12;
  NpyHeader header = DictionaryReader(start.substr(begin, end - begin), origin).read();
  header.data_begin = static_cast<int64_t>(end);
  header.dtype = header.descr == "<f2"   ? StoredDtype::f16
                 : header.descr == "<f8" ? StoredDtype::f64
                                         : StoredDtype::f32;
  return header;
}

void require_npy_size(const NpyHeader& header, int64_t file_bytes, const std::string& origin) {
  int64_t bytes = stored_element_bytes(header.dtype);
  bool overflow = false;
  for (const int64_t extent : header.shape) overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  if (overflow || bytes != file_bytes - header.data_begin) {
    throw InputError(origin + ": shape: expected " + (overflow ? "more than 2^63" : std::to_string(bytes)) +
                     " bytes after the header for " + printable(header.shape) + " in '" + header.descr +
                     "', found " + std::to_string(file_bytes - header.data_begin));
  }
}

std::string make_npy_header(const std::vector<int64_t>& shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  // numpy aligns the data to 64 bytes and ends the header in a newline.
  constexpr size_t kPrefix = 10;
  while ((kPrefix + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  if (text.size() > 0xffff) throw std::logic_error("make_npy_header: too many extents");
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace headroom
