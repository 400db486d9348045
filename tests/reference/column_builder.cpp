#include "tests/reference/column_builder.hpp"

#include <algorithm>
#include <cstring>

namespace garuda::reference {
namespace {

struct Buffers {
  std::vector<std::byte> values;
  std::vector<std::uint8_t> validity;
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> large_offsets;
  std::vector<std::byte> views;  // of `values`, then
  void const* data = nullptr;
  std::int64_t data_bytes = 0;
  ViewBuffers list;
};

/// The bits of rows that lie before a slice are ones, so that a reader that forgets the offset sees no nulls.
std::vector<std::uint8_t> bitmap_of(std::vector<bool> const& valid, std::size_t offset) {
  std::vector<std::uint8_t> bitmap((valid.size() + offset + 7) / 8);
  for (std::size_t i = 0; i < offset + valid.size(); ++i)
    if (i < offset || valid[i - offset]) bitmap[i / 8] = static_cast<std::uint8_t>(bitmap[i / 8] | (1U << (i % 8)));
  return bitmap;
}

}  // namespace

Column make_column(DataType type, std::vector<std::byte> const& bytes, std::vector<bool> const& valid,
                   std::int64_t offset) {
  auto const width = static_cast<std::size_t>(byte_width(type));
  auto buffers = std::make_shared<Buffers>();
  buffers->values.resize(static_cast<std::size_t>(offset) * width, std::byte{0x7F});
  buffers->values.insert(buffers->values.end(), bytes.begin(), bytes.end());
  Column column;
  column.type = std::move(type);
  column.array.length = static_cast<std::int64_t>(bytes.size() / width);
  column.array.offset = offset;
  column.array.values = buffers->values.data();
  if (!valid.empty()) {
    buffers->validity = bitmap_of(valid, static_cast<std::size_t>(offset));
    column.array.validity = buffers->validity.data();
  }
  column.owner = std::move(buffers);
  return column;
}

Column make_strings(std::vector<std::optional<std::string>> const& values, TypeId id) {
  bool const has_views = id == TypeId::utf8_view || id == TypeId::binary_view;
  bool const is_large = id == TypeId::large_utf8 || id == TypeId::large_binary;
  auto buffers = std::make_shared<Buffers>();
  std::vector<bool> valid;
  std::vector<std::int64_t> offsets{0};
  for (auto const& value : values) {
    for (char const c : value.value_or("")) buffers->values.push_back(static_cast<std::byte>(c));
    offsets.push_back(static_cast<std::int64_t>(buffers->values.size()));
    valid.push_back(value.has_value());
  }
  Column column;
  column.type.id = id;
  column.array.length = static_cast<std::int64_t>(values.size());
  column.array.values = buffers->values.data();
  if (has_views) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const& text = values[i].value_or("");
      char view[16] = {};
      std::int32_t const words[] = {static_cast<std::int32_t>(text.size()), 0, 0,
                                    static_cast<std::int32_t>(offsets[i])};
      std::memcpy(view, words, sizeof(view));
      std::memcpy(view + 4, text.data(), std::min<std::size_t>(text.size(), text.size() > 12 ? 4 : 12));
      if (text.size() <= 12) std::memset(view + 4 + text.size(), 0, 12 - text.size());
      for (auto const byte : view) buffers->views.push_back(static_cast<std::byte>(byte));
    }
    buffers->data = buffers->values.data();
    buffers->data_bytes = static_cast<std::int64_t>(buffers->values.size());
    buffers->list = {1, &buffers->data, &buffers->data_bytes};
    column.array.values = buffers->views.data();
    column.array.offsets = &buffers->list;
  } else if (is_large) {
    buffers->large_offsets = std::move(offsets);
    column.array.offsets = buffers->large_offsets.data();
  } else {
    buffers->offsets.assign(offsets.begin(), offsets.end());
    column.array.offsets = buffers->offsets.data();
  }
  buffers->validity = bitmap_of(valid, 0);
  column.array.validity = buffers->validity.data();
  column.owner = std::move(buffers);
  return column;
}

Column make_booleans(std::vector<std::optional<bool>> const& values) {
  auto buffers = std::make_shared<Buffers>();
  std::vector<bool> valid;
  buffers->values.resize(values.size() / 8 + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].value_or(true)) buffers->values[i / 8] |= std::byte{1} << (i % 8);
    valid.push_back(values[i].has_value());
  }
  Column column;
  column.type.id = TypeId::boolean;
  column.array.length = static_cast<std::int64_t>(values.size());
  column.array.values = buffers->values.data();
  buffers->validity = bitmap_of(valid, 0);
  column.array.validity = buffers->validity.data();
  column.owner = std::move(buffers);
  return column;
}

Column make_dictionary(std::vector<std::optional<std::int32_t>> const& indices, Column const& dictionary) {
  DataType type;
  type.id = TypeId::dictionary;
  type.value = std::make_shared<DataType const>(dictionary.type);
  auto column = make_column(type, indices);
  auto owner = std::make_shared<std::pair<Column, Column>>(column, dictionary);
  column.array.dictionary = &owner->second.array;
  column.owner = std::move(owner);
  return column;
}

Batch make_batch(std::vector<Column> const& columns) {
  Batch batch;
  batch.num_rows = columns.empty() ? 0 : columns.front().array.length;
  for (auto const& column : columns) batch.columns.push_back(column.array);
  batch.owner = std::make_shared<std::vector<Column>>(columns);
  return batch;
}

Table make_table(std::string name, std::vector<Column> const& columns) {
  std::vector<Batch> batches;
  for (auto const& column : columns) batches.push_back(make_batch({column}));
  return Table({Field{std::move(name), columns.at(0).type, true}}, std::move(batches));
}

}  // namespace garuda::reference
