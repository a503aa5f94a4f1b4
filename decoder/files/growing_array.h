#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace headroom {

/// A vector of trivially copyable values for very large arrays. It grows with realloc(). std::vector would
/// hold the old and the new values at once. Throws std::bad_alloc.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return values_.get(); }
  T* data() { return values_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& operator[](size_t i) { return data()[i]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T value) {
    make_room(1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  /// Appends `count` values from `first` on, which must not lie in this array.
  void append(const T* first, size_t count) {
    if (count == 0) return;
    make_room(count);
    std::memcpy(end(), first, count * sizeof(T));
    size_ += count;
  }
  void resize(size_t size) {
    if (size > size_) {
      make_room(size - size_);
      std::uninitialized_value_construct_n(end(), size - size_);
    }
    size_ = size;
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };

  void make_room(size_t more) {
    if (capacity_ - size_ >= more) return;
    const size_t capacity = capacity_ + (more > capacity_ ? more : capacity_);
    void* grown = std::realloc(values_.get(), capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    static_cast<void>(values_.release());
    values_.reset(static_cast<T*>(grown));
    capacity_ = capacity;
  }

  std::unique_ptr<T, Free> values_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace headroom
