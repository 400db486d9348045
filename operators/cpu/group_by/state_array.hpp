// Arrays of a group table's states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "core/buffer.hpp"

namespace garuda::cpu {

/// A growing array of plain values in memory that takes huge pages when it is large. Throws std::bad_alloc.
template <class T>
class StateArray {
 public:
  std::uint64_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return buffer_.as<T>(); }
  T const* data() const noexcept { return buffer_.as<T>(); }
  std::span<T const> values() const noexcept { return {data(), size_}; }
  T& operator[](std::uint64_t i) noexcept { return data()[i]; }
  T const& operator[](std::uint64_t i) const noexcept { return data()[i]; }

  /// Makes room for `size` values.
  void reserve(std::uint64_t size) {
    if (size <= capacity_) return;
    auto larger = AlignedBuffer::allocate(static_cast<std::int64_t>(size * sizeof(T)));
    if (!larger) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(larger->data(), buffer_.data(), size_ * sizeof(T));
    buffer_ = std::move(*larger);
    capacity_ = size;
  }

  /// Sets the size; what is new becomes `value`.
  void resize(std::uint64_t size, T value = T{}) {
    if (size > capacity_) grow(size);
    if (size > size_) std::fill(data() + size_, data() + size, value);
    size_ = size;
  }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }

  /// Room for `count` values behind the last one, of which `append` takes some.
  T* room_for(std::uint64_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    return data() + size_;
  }
  void append(std::uint64_t count) noexcept { size_ += count; }

  /// Forgets the values, keeps the memory.
  void clear() noexcept { size_ = 0; }

 private:
  void grow(std::uint64_t size) { reserve(std::max(size, capacity_ + capacity_ / 2)); }

  AlignedBuffer buffer_;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace garuda::cpu
