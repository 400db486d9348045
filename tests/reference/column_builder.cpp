#include "tests/reference/column_builder.hpp"

namespace garuda::reference {
namespace {

struct Buffers {
  std::vector<std::byte> values;
  std::vector<std::uint8_t> validity;
  std::vector<std::int32_t> offsets;
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

Column make_strings(std::vector<std::optional<std::string>> const& values) {
  auto buffers = std::make_shared<Buffers>();
  std::vector<bool> valid;
  buffers->offsets.push_back(0);
  for (auto const& value : values) {
    for (char const c : value.value_or("")) buffers->values.push_back(static_cast<std::byte>(c));
    buffers->offsets.push_back(static_cast<std::int32_t>(buffers->values.size()));
    valid.push_back(value.has_value());
  }
  Column column;
  column.type.id = TypeId::utf8;
  column.array.length = static_cast<std::int64_t>(values.size());
  column.array.offsets = buffers->offsets.data();
  column.array.values = buffers->values.data();
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
