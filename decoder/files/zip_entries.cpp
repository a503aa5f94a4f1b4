#include "decoder/files/zip_entries.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

static_assert(std::endian::native == std::endian::little, "zip archives are little-endian");

constexpr int64_t kLargestDirectory = 64 << 20;
constexpr uint64_t kInZip64 = 0xffffffff;  // 32-bit field whose value is in the zip64 record

/// Reads little-endian numbers from a record, with bounds checks.
class Record {
 public:
  Record(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  uint64_t number(size_t at, size_t width) const {
    uint64_t value = 0;
    std::memcpy(&value, part(at, width).data(), width);
    return value;
  }
  std::string_view part(size_t at, size_t length) const {
    if (at > bytes_.size() || length > bytes_.size() - at)
      throw InputError(origin_ + ": zip archive: a record ends too early");
    return bytes_.substr(at, length);
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::string origin_;
};

[[noreturn]] void refuse_zip(const ReadOnlyFile& file, const std::string& what) {
  throw InputError(file.origin() + ": zip archive: " + what);
}

std::string bytes_at(const ReadOnlyFile& file, int64_t offset, int64_t length) {
  std::string bytes(static_cast<size_t>(length), '\0');
  file.read_at(offset, bytes.data(), length);
  return bytes;
}

struct Directory {
  int64_t begin = 0, bytes = 0;
};

/// Requires that the directory ends before `end`.
Directory checked_directory(const ReadOnlyFile& file, uint64_t begin, uint64_t bytes, int64_t end) {
  const auto most = static_cast<uint64_t>(end);
  if (begin > most || bytes > most - begin) refuse_zip(file, "its directory points outside the file");
  if (bytes > static_cast<uint64_t>(kLargestDirectory)) refuse_zip(file, "its directory is above 64 MiB");
  return {static_cast<int64_t>(begin), static_cast<int64_t>(bytes)};
}

/// Reads the directory's offset and size from the zip64 record. Returns nullopt if the file has none.
std::optional<Directory> zip64_directory(const ReadOnlyFile& file, int64_t end_record) {
  constexpr int64_t kLocatorBytes = 20, kRecordBytes = 56;
  if (end_record < kLocatorBytes) return std::nullopt;
  const std::string locator_bytes = bytes_at(file, end_record - kLocatorBytes, kLocatorBytes);
  if (!locator_bytes.starts_with("PK\x06\x07")) return std::nullopt;
  const uint64_t at = Record(locator_bytes, file.origin()).number(8, 8);
  const int64_t last = end_record - kLocatorBytes - kRecordBytes;
  if (last < 0 || at > static_cast<uint64_t>(last))
    refuse_zip(file, "its zip64 record points outside the file");
  const std::string bytes = bytes_at(file, static_cast<int64_t>(at), kRecordBytes);
  if (!bytes.starts_with("PK\x06\x06")) refuse_zip(file, "its zip64 record is missing");
  const Record record(bytes, file.origin());
  return checked_directory(file, record.number(48, 8), record.number(40, 8), static_cast<int64_t>(at));
}

Directory find_directory(const ReadOnlyFile& file) {
  constexpr int64_t kEndBytes = 22, kLongestComment = 0xffff;
  const int64_t tail_begin = std::max<int64_t>(0, file.bytes() - kEndBytes - kLongestComment);
  const std::string tail = bytes_at(file, tail_begin, file.bytes() - tail_begin);
  const size_t at = tail.rfind("PK\x05\x06");
  if (at == std::string::npos || tail.size() - at < kEndBytes)
    throw InputError(file.origin() +
                     ": expected torch.save()'s zip archive, found none (older files: load and save them "
                     "again, or write .safetensors)");
  const int64_t end_record = tail_begin + static_cast<int64_t>(at);
  const Record record(std::string_view(tail).substr(at), file.origin());
  if (record.number(4, 2) != 0 && record.number(4, 2) != 0xffff) refuse_zip(file, "it has several disks");
  if (const auto found = zip64_directory(file, end_record)) return *found;
  return checked_directory(file, record.number(16, 4), record.number(12, 4), end_record);
}

/// Sizes and offset of an entry, with 64-bit values from the zip64 extra field if it has one.
struct EntryPlace {
  uint64_t bytes = 0, compressed = 0, header = 0;
};

EntryPlace place_of(const Record& entry, const Record& extra) {
  EntryPlace place{entry.number(24, 4), entry.number(20, 4), entry.number(42, 4)};
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = extra.number(at, 2), length = extra.number(at + 2, 2);
    size_t field = at + 4;
    if (id == 1) {
      for (uint64_t* value : {&place.bytes, &place.compressed, &place.header}) {
        if (*value != kInZip64) continue;
        *value = extra.number(field, 8);
        field += 8;
      }
    }
    at += 4 + length;
  }
  return place;
}

/// Offset of an entry's data, right after the entry's local header.
int64_t begin_of(const ReadOnlyFile& file, const EntryPlace& place, int64_t end, const std::string& name) {
  constexpr int64_t kHeaderBytes = 30;
  const auto outside = [&] { refuse_zip(file, printable(name) + " points outside the file"); };
  const auto most = static_cast<uint64_t>(end);
  if (most < kHeaderBytes || place.header > most - kHeaderBytes) outside();
  const auto header_at = static_cast<int64_t>(place.header);
  const std::string bytes = bytes_at(file, header_at, kHeaderBytes);
  if (!bytes.starts_with("PK\x03\x04")) refuse_zip(file, printable(name) + " has no header of its own");
  const Record header(bytes, file.origin());
  const uint64_t begin = place.header + kHeaderBytes + header.number(26, 2) + header.number(28, 2);
  if (begin > most || place.bytes > most - begin) outside();
  return static_cast<int64_t>(begin);
}

}  // namespace

std::vector<ZipEntry> read_zip_entries(const ReadOnlyFile& file) {
  constexpr size_t kEntryBytes = 46;
  const Directory directory = find_directory(file);
  const std::string bytes = bytes_at(file, directory.begin, directory.bytes);
  std::vector<ZipEntry> entries;
  for (size_t at = 0; at < bytes.size();) {
    const Record entry(std::string_view(bytes).substr(at), file.origin());
    if (entry.part(0, 4) != "PK\x01\x02") refuse_zip(file, "its directory is damaged");
    const uint64_t name_bytes = entry.number(28, 2), extra_bytes = entry.number(30, 2);
    const std::string name(entry.part(kEntryBytes, name_bytes));
    const Record extra(entry.part(kEntryBytes + name_bytes, extra_bytes), file.origin());
    const EntryPlace place = place_of(entry, extra);
    if ((entry.number(8, 2) & 1) != 0) refuse_zip(file, printable(name) + " is encrypted");
    if (entry.number(10, 2) != 0 || place.compressed != place.bytes) {
      refuse_zip(file, printable(name) +
                           " is compressed, which torch.save() does not do: load it and save "
                           "it again");
    }
    entries.push_back(
        {name, begin_of(file, place, directory.begin, name), static_cast<int64_t>(place.bytes)});
    at += kEntryBytes + name_bytes + extra_bytes + entry.number(32, 2);
  }
  return entries;
}

}  // namespace headroom
