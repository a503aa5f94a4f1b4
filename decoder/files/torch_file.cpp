#include "decoder/files/torch_file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/text.h"
#include "decoder/files/pickle.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/files/zip_entries.h"

namespace headroom {
namespace {

constexpr int64_t kLargestPickle = 64 << 20;
constexpr size_t kMostAxes = 16;
constexpr size_t kLongestName = 1000;
constexpr int64_t kMostElementsRead = int64_t{1} << 30;

/// A torch.save() archive: the pickle, and one storage for each persistent value in it.
class TorchArchive {
 public:
  explicit TorchArchive(const std::string& path) : file_(path), entries_(read_zip_entries(file_)) {
    constexpr std::string_view kPickle = "data.pkl";
    for (const ZipEntry& entry : entries_) {
      const bool at_top = entry.name == kPickle;
      if (!at_top && !entry.name.ends_with("/data.pkl")) continue;
      folder_ = entry.name.substr(0, entry.name.size() - kPickle.size());
      if (entry.bytes > kLargestPickle) fail("data.pkl: expected at most 64 MiB");
      pickle_ = text_of_entry(entry);
      if (const ZipEntry* order = find("byteorder");
          order && order->bytes < 16 && text_of_entry(*order) != "little")
        fail("byteorder: expected little");
      return;
    }
    fail("expected a tensor of torch.save(), found an archive without data.pkl");
  }

  const ReadOnlyFile& file() const { return file_; }
  const std::string& pickle() const { return pickle_; }
  /// Returns null if the archive has no such entry.
  const ZipEntry* find(const std::string& name) const {
    const auto is_it = [&](const ZipEntry& entry) { return entry.name == folder_ + name; };
    const auto found = std::find_if(entries_.begin(), entries_.end(), is_it);
    return found == entries_.end() ? nullptr : &*found;
  }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(file_.origin() + ": " + what); }

 private:
  std::string text_of_entry(const ZipEntry& entry) const {
    std::string text(static_cast<size_t>(entry.bytes), '\0');
    file_.read_at(entry.begin, text.data(), entry.bytes);
    return text;
  }

  ReadOnlyFile file_;
  std::vector<ZipEntry> entries_;
  std::string folder_, pickle_;
};

StoredDtype dtype_of_storage(const std::string& name) {
  static constexpr std::pair<const char*, StoredDtype> kStorages[] = {
      {"torch.FloatStorage", StoredDtype::f32},
      {"torch.HalfStorage", StoredDtype::f16},
      {"torch.BFloat16Storage", StoredDtype::bf16},
      {"torch.DoubleStorage", StoredDtype::f64}};
  for (const auto& [known, dtype] : kStorages) {
    if (name == known) return dtype;
  }
  return StoredDtype::other;
}

/// Returns the call that builds a tensor, unwrapping a torch.nn.Parameter. Nullopt if the value is not a
/// tensor.
std::optional<PickleValue> tensor_call(PickleValue value) {
  if (value.name() == "torch._utils._rebuild_parameter" && value.kind() == PickleKind::call &&
      value.arguments().size() > 0)
    value = value.arguments()[0];
  if (value.kind() != PickleKind::call || value.name() != "torch._utils._rebuild_tensor_v2")
    return std::nullopt;
  return value;
}

/// A named tensor in a dict, list or tuple. A small pickle may repeat one long name many times. So names are
/// copied only after their length has been checked.
struct NamedTensor {
  std::string name;
  PickleValue call;
};

std::vector<NamedTensor> tensors_in(const TorchArchive& archive, const PickleValue& root) {
  if (const auto alone = tensor_call(root)) return {{"", *alone}};
  std::vector<NamedTensor> found;
  for (size_t i = 0; i < root.size(); ++i) {
    if (const auto call = tensor_call(root[i])) found.push_back({std::to_string(i), *call});
  }
  for (size_t i = 0; i < root.pairs(); ++i) {
    const auto call = tensor_call(root.value(i));
    const auto name = root.key(i).text();
    if (!call || !name) continue;
    if (name->size() > kLongestName) {
      archive.fail("expected names of at most " + std::to_string(kLongestName) + " bytes, found one of " +
                   std::to_string(name->size()));
    }
    found.push_back({std::string(*name), *call});
  }
  return found;
}

NamedTensor chosen_tensor(const TorchArchive& archive, const PickleValue& root, const std::string& key) {
  constexpr size_t kShown = 8;
  const std::vector<NamedTensor> found = tensors_in(archive, root);
  if (found.empty()) {
    archive.fail("expected a tensor, or a dict or list of them, found " + std::string(text_of(root.kind())) +
                 (root.name().empty() ? "" : " of " + printable(root.name())) +
                 ": torch.save(latent, \"latent.pt\") writes one");
  }
  if (key.empty() && found.size() == 1) return found.front();
  std::string names;
  for (size_t i = 0; i < std::min(found.size(), kShown); ++i)
    names += (i == 0 ? "" : ", ") + printable(found[i].name);
  if (found.size() > kShown) names += " and " + std::to_string(found.size() - kShown) + " more";
  if (key.empty())
    archive.fail("holds " + std::to_string(found.size()) + " tensors: name one of them, FILE.pt:NAME (" +
                 names + ")");
  for (const NamedTensor& tensor : found) {
    if (tensor.name == key) return tensor;
  }
  archive.fail(printable(key) + ": no such tensor" +
               (found.front().name.empty() ? ", it was saved alone" : " (" + names + ")"));
}

/// Tensor metadata from the pickle, checked against the storage.
struct TorchTensor {
  StoredDtype dtype = StoredDtype::other;
  const ZipEntry* storage = nullptr;
  int64_t storage_elements = 0, offset = 0;
  std::vector<int64_t> shape, strides;
  int64_t elements = 1;
  int64_t span = 0;  ///< storage elements from the offset to the last element
};

std::vector<int64_t> lengths_of(const TorchArchive& archive, const std::string& where,
                                const PickleValue& value) {
  std::vector<int64_t> lengths;
  if (value.size() > kMostAxes) archive.fail(where + ": expected at most 16 axes");
  for (size_t i = 0; i < value.size(); ++i) {
    const auto length = value[i].integer();
    if (!length || *length < 0) archive.fail(where + ": expected integers from 0");
    lengths.push_back(*length);
  }
  return lengths;
}

/// Reads a storage reference: ("storage", torch.FloatStorage, "0", "cpu", elements).
void read_storage(const TorchArchive& archive, const std::string& where, const PickleValue& named,
                  TorchTensor& tensor) {
  const PickleValue reference = named.reference();
  if (named.kind() != PickleKind::persistent || reference.size() != 5)
    archive.fail(where + ": storage: expected torch.save()'s reference");
  tensor.dtype = dtype_of_storage(reference[1].name());
  if (tensor.dtype == StoredDtype::other)
    archive.fail(where + ": dtype: expected float16, bfloat16, float32 or float64, found " +
                 printable(reference[1].name()));
  const auto key = reference[2].text();
  tensor.storage = key ? archive.find("data/" + std::string(*key)) : nullptr;
  if (tensor.storage == nullptr) archive.fail(where + ": storage: the archive lacks it");
  tensor.storage_elements = tensor.storage->bytes / stored_element_bytes(tensor.dtype);
}

/// Requires that every element lies in the storage, and that the tensor has no more elements than the
/// storage.
void check_layout(const TorchArchive& archive, const std::string& where, TorchTensor& tensor) {
  if (tensor.strides.size() != tensor.shape.size() || tensor.offset < 0)
    archive.fail(where + ": stride: expected one for each axis");
  int64_t last = tensor.offset;
  bool inside = tensor.offset < tensor.storage_elements;
  for (size_t i = 0; i < tensor.shape.size() && inside; ++i) {
    const int64_t extent = tensor.shape[i];
    if (extent < 1)
      archive.fail(where + ": shape: expected positive extents, found " + printable(tensor.shape));
    // The stride of an axis of length 1 is never used and may be any number.
    if (extent == 1) tensor.strides[i] = 0;
    int64_t reach = 0;
    inside = extent <= tensor.storage_elements / tensor.elements &&
             !__builtin_mul_overflow(extent - 1, tensor.strides[i], &reach) &&
             !__builtin_add_overflow(last, reach, &last) && last < tensor.storage_elements;
    if (inside) tensor.elements *= extent;
  }
  if (!inside)
    archive.fail(where + ": shape: expected elements that lie in the storage's " +
                 std::to_string(tensor.storage->bytes) + " bytes, found " + printable(tensor.shape));
  tensor.span = last - tensor.offset + 1;
  if (tensor.span > kMostElementsRead)
    archive.fail(where + ": shape: expected at most 2^30 elements, found " + printable(tensor.shape));
}

TorchTensor described_tensor(const TorchArchive& archive, const std::string& where, const PickleValue& call) {
  const PickleValue arguments = call.arguments();
  if (arguments.size() < 4) archive.fail(where + ": expected torch.save()'s description of a tensor");
  TorchTensor tensor;
  read_storage(archive, where, arguments[0], tensor);
  const auto offset = arguments[1].integer();
  if (!offset) archive.fail(where + ": storage_offset: expected an integer");
  tensor.offset = *offset;
  tensor.shape = lengths_of(archive, where + ": shape", arguments[2]);
  tensor.strides = lengths_of(archive, where + ": stride", arguments[3]);
  check_layout(archive, where, tensor);
  return tensor;
}

bool is_contiguous(const TorchTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Copies the elements into C order. `stored` begins at the tensor's offset.
std::vector<float> gathered(const TorchTensor& tensor, const std::vector<float>& stored) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  std::vector<int64_t> index(tensor.shape.size());
  int64_t from = 0;
  for (float& value : values) {
    value = stored[static_cast<size_t>(from)];
    for (size_t i = index.size(); i-- > 0;) {
      from += tensor.strides[i];
      if (++index[i] < tensor.shape[i]) break;
      from -= tensor.strides[i] * tensor.shape[i];
      index[i] = 0;
    }
  }
  return values;
}

}  // namespace

Array read_torch_file(const std::string& path, const std::string& key) {
  const TorchArchive archive(path);
  const Pickle pickle = Pickle::parse(archive.pickle(), path + ": data.pkl");
  const NamedTensor chosen = chosen_tensor(archive, pickle.root(), key);
  const std::string where = chosen.name.empty() ? "tensor" : printable(chosen.name);
  const TorchTensor tensor = described_tensor(archive, where, chosen.call);
  const int64_t begin = tensor.storage->begin + tensor.offset * stored_element_bytes(tensor.dtype);
  const bool plain = is_contiguous(tensor);
  std::vector<float> values(static_cast<size_t>(plain ? tensor.elements : tensor.span));
  read_as_float(archive.file(), begin, tensor.dtype, std::ssize(values), values.data());
  return {tensor.shape, plain ? std::move(values) : gathered(tensor, values)};
}

}  // namespace headroom
