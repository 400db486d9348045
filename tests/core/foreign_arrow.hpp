// Arrow C arrays made by hand, as another library would hand them over. Every node counts its releases and frees its
// buffers when it is released, so that AddressSanitizer sees a use after release and each overrun of a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/arrow_c.hpp"

namespace garuda::testing {

/// One node of a schema and array tree. Its structures can be changed at will before they are handed over.
class ForeignNode {
 public:
  ForeignNode(std::string node_format, std::string node_name)
      : format(std::move(node_format)), name(std::move(node_name)) {}
  ForeignNode(ForeignNode const&) = delete;
  ForeignNode& operator=(ForeignNode const&) = delete;

  /// Adds a buffer of exactly these bytes; a buffer without bytes is null.
  template <class T>
  void add_buffer(std::vector<T> const& values) {
    auto const size = values.size() * sizeof(T);
    storage.push_back(size == 0 ? nullptr : std::make_unique<std::byte[]>(size));
    if (size > 0) std::memcpy(storage.back().get(), values.data(), size);
    buffers.push_back(storage.back().get());
  }

  /// Writable buffer `i`, as elements of type `T`.
  template <class T>
  T* buffer(std::size_t i) {
    return reinterpret_cast<T*>(storage[i].get());
  }

  /// Fills the structures of this node and of those below it.
  void link() {
    array_children.clear();
    schema_children.clear();
    for (auto const& child : children) {
      child->link();
      array_children.push_back(&child->array);
      schema_children.push_back(&child->schema);
    }
    if (dictionary) dictionary->link();
    auto const num_children = static_cast<std::int64_t>(children.size());
    array = ArrowArray{length,
                       null_count,
                       offset,
                       static_cast<std::int64_t>(buffers.size()),
                       num_children,
                       buffers.data(),
                       array_children.data(),
                       dictionary ? &dictionary->array : nullptr,
                       release_array,
                       this};
    schema = ArrowSchema{format.c_str(),
                         name.c_str(),
                         nullptr,
                         ARROW_FLAG_NULLABLE,
                         num_children,
                         schema_children.data(),
                         dictionary ? &dictionary->schema : nullptr,
                         release_schema,
                         this};
  }

  /// This node and all below it.
  std::vector<ForeignNode*> tree() {
    std::vector<ForeignNode*> nodes{this};
    auto const append = [&](ForeignNode& node) {
      for (auto* below : node.tree()) nodes.push_back(below);
    };
    for (auto const& child : children) append(*child);
    if (dictionary) append(*dictionary);
    return nodes;
  }

  std::string format;
  std::string name;
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::int64_t offset = 0;
  std::vector<std::unique_ptr<std::byte[]>> storage;
  std::vector<void const*> buffers;
  std::vector<std::unique_ptr<ForeignNode>> children;
  std::unique_ptr<ForeignNode> dictionary;

  ArrowArray array{};
  ArrowSchema schema{};
  std::vector<ArrowArray*> array_children;
  std::vector<ArrowSchema*> schema_children;
  int array_releases = 0;
  int schema_releases = 0;

 private:
  static void release_array(ArrowArray* array) {
    auto& node = *static_cast<ForeignNode*>(array->private_data);
    ++node.array_releases;
    node.storage.clear();
    for (auto const& child : node.children) {
      if (child->array.release != nullptr) child->array.release(&child->array);
    }
    if (node.dictionary && node.dictionary->array.release != nullptr) {
      node.dictionary->array.release(&node.dictionary->array);
    }
    array->release = nullptr;
  }

  static void release_schema(ArrowSchema* schema) {
    auto& node = *static_cast<ForeignNode*>(schema->private_data);
    ++node.schema_releases;
    for (auto const& child : node.children) {
      if (child->schema.release != nullptr) child->schema.release(&child->schema);
    }
    if (node.dictionary && node.dictionary->schema.release != nullptr) {
      node.dictionary->schema.release(&node.dictionary->schema);
    }
    schema->release = nullptr;
  }
};

using ForeignColumn = std::unique_ptr<ForeignNode>;

/// A bitmap whose bit `offset + i` is bits[i]; the bits in front of it are ones.
inline std::vector<std::uint8_t> pack_bits(std::vector<bool> const& bits, std::int64_t offset = 0) {
  std::vector<std::uint8_t> bytes((static_cast<std::size_t>(offset) + bits.size() + 7) / 8);
  for (std::size_t i = 0; i < static_cast<std::size_t>(offset) + bits.size(); ++i) {
    auto const bit = i < static_cast<std::size_t>(offset) || bits[i - static_cast<std::size_t>(offset)];
    bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | (bit << (i % 8)));
  }
  return bytes;
}

/// A node of the given length and offset, with its validity bitmap when `valid` is not empty.
inline ForeignColumn foreign_node(std::string name, std::string format, std::size_t length, std::int64_t offset,
                                  std::vector<bool> const& valid) {
  auto column = std::make_unique<ForeignNode>(std::move(format), std::move(name));
  column->length = static_cast<std::int64_t>(length);
  column->offset = offset;
  for (auto const bit : valid) column->null_count += bit ? 0 : 1;
  column->add_buffer(valid.empty() ? std::vector<std::uint8_t>{} : pack_bits(valid, offset));
  return column;
}

/// A fixed-width column; `offset` values that belong to no row stand in front.
template <class T>
ForeignColumn foreign_fixed(std::string name, std::string format, std::vector<T> values, std::vector<bool> valid = {},
                            std::int64_t offset = 0) {
  auto column = foreign_node(std::move(name), std::move(format), values.size(), offset, valid);
  values.insert(values.begin(), static_cast<std::size_t>(offset), T{});
  column->add_buffer(values);
  return column;
}

inline ForeignColumn foreign_booleans(std::string name, std::vector<bool> const& values, std::vector<bool> valid = {},
                                      std::int64_t offset = 0) {
  auto column = foreign_node(std::move(name), "b", values.size(), offset, valid);
  column->add_buffer(pack_bits(values, offset));
  return column;
}

/// A variable-width column with offsets of type `Offset`; values that are absent are null. The rows in front of
/// `offset` have one byte each.
template <class Offset>
ForeignColumn foreign_text(std::string name, std::string format, std::vector<std::optional<std::string>> const& values,
                           std::int64_t offset = 0) {
  std::vector<bool> valid;
  bool has_nulls = false;
  for (auto const& value : values) {
    valid.push_back(value.has_value());
    has_nulls = has_nulls || !value;
  }
  auto column =
      foreign_node(std::move(name), std::move(format), values.size(), offset, has_nulls ? valid : std::vector<bool>{});
  std::vector<Offset> offsets;
  for (std::int64_t i = 0; i <= offset; ++i) offsets.push_back(static_cast<Offset>(i));
  std::string data(static_cast<std::size_t>(offset), '#');
  for (auto const& value : values) {
    data += value.value_or("");
    offsets.push_back(static_cast<Offset>(data.size()));
  }
  column->add_buffer(offsets);
  column->add_buffer(std::vector<char>(data.begin(), data.end()));
  return column;
}

inline ForeignColumn foreign_dictionary(ForeignColumn indices, ForeignColumn values) {
  indices->dictionary = std::move(values);
  return indices;
}

/// A struct array, its schema and everything below. Must outlive what was imported from it.
class ForeignBatch {
 public:
  template <class... Columns>
  explicit ForeignBatch(Columns... columns) : root_(std::make_unique<ForeignNode>("+s", "")) {
    (root_->children.push_back(std::move(columns)), ...);
    if (!root_->children.empty()) root_->length = root_->children.front()->length;
    root_->buffers.push_back(nullptr);
    root_->link();
  }

  ForeignNode& root() { return *root_; }
  ForeignNode& column(std::size_t i) { return *root_->children[i]; }
  ArrowArray* array() { return &root_->array; }
  ArrowSchema* schema() { return &root_->schema; }

  /// True when the arrays of all nodes were released exactly `times` times.
  bool arrays_released(int times = 1) {
    for (auto* node : root_->tree()) {
      if (node->array_releases != times) return false;
    }
    return true;
  }
  bool schemas_released(int times = 1) {
    for (auto* node : root_->tree()) {
      if (node->schema_releases != times) return false;
    }
    return true;
  }

 private:
  std::unique_ptr<ForeignNode> root_;
};

/// A stream of the batches' arrays, with the schema of the first. Must outlive the import.
class ForeignStream {
 public:
  explicit ForeignStream(std::vector<ForeignBatch*> batches) : batches_(std::move(batches)) {
    stream = ArrowArrayStream{get_schema, get_next, get_last_error, release, this};
  }
  ForeignStream(ForeignStream const&) = delete;
  ForeignStream& operator=(ForeignStream const&) = delete;

  ArrowArrayStream stream{};
  int schema_code = 0;               ///< what get_schema returns
  int next_code = 0;                 ///< what get_next returns behind the last batch
  char const* last_error = nullptr;  ///< what get_last_error returns
  int releases = 0;

 private:
  static ForeignStream& self(ArrowArrayStream* stream) { return *static_cast<ForeignStream*>(stream->private_data); }

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    auto& foreign = self(stream);
    if (foreign.schema_code != 0) return foreign.schema_code;
    *out = *foreign.batches_.front()->schema();
    foreign.batches_.front()->schema()->release = nullptr;
    return 0;
  }

  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    auto& foreign = self(stream);
    if (foreign.position_ == foreign.batches_.size()) {
      if (foreign.next_code == 0) out->release = nullptr;
      return foreign.next_code;
    }
    auto* array = foreign.batches_[foreign.position_++]->array();
    *out = *array;
    array->release = nullptr;
    return 0;
  }

  static char const* get_last_error(ArrowArrayStream* stream) { return self(stream).last_error; }

  static void release(ArrowArrayStream* stream) {
    ++self(stream).releases;
    stream->release = nullptr;
  }

  std::vector<ForeignBatch*> batches_;
  std::size_t position_ = 0;
};

}  // namespace garuda::testing
