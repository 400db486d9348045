#include "io/parquet/flat_columns.hpp"

#include <arrow/array/builder_binary.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "io/parquet/chunk_pages.hpp"

namespace garuda::io {
namespace {

using Bytes = std::span<std::uint8_t const>;

/// Beyond any file, and their bytes can be counted: what a footer says may be anything.
constexpr std::int64_t kMostFileRows = std::int64_t{1} << 40;

/// The physical type whose values are those of `type`; nullopt: there is none.
std::optional<parquet::Type::type> physical_type(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
    case arrow::Type::DECIMAL32:
      return parquet::Type::INT32;
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DECIMAL64:
      return parquet::Type::INT64;
    case arrow::Type::FLOAT:
      return parquet::Type::FLOAT;
    case arrow::Type::DOUBLE:
      return parquet::Type::DOUBLE;
    case arrow::Type::DICTIONARY: {
      auto const& dictionary = static_cast<arrow::DictionaryType const&>(type);
      auto const values = dictionary.value_type()->id();
      bool const is_built = dictionary.index_type()->id() == arrow::Type::INT32 &&
                            (values == arrow::Type::STRING || values == arrow::Type::BINARY);
      return is_built ? std::optional(parquet::Type::BYTE_ARRAY) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

/// Whether definition levels of at most 1 are one run of ones, as writers make them where nothing is null.
bool is_run_of_ones(Bytes levels, std::int32_t count) {
  constexpr unsigned kMostShift = 28;
  std::uint64_t header = 0;
  std::size_t next = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (next == levels.size() || shift > kMostShift) return false;
    auto const byte = levels[next++];
    header |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  bool const is_run = (header & 1) == 0;
  return is_run && header >> 1 >= static_cast<std::uint64_t>(count) && next < levels.size() && levels[next] == 1;
}

/// The values of a data page.
struct PageValues {
  std::int32_t count = 0;
  parquet::Encoding::type encoding = parquet::Encoding::UNKNOWN;
  Bytes bytes;
};

/// nullopt: not such a page, or one with nulls.
std::optional<PageValues> values_of(parquet::Page const& page, bool has_levels) {
  Bytes const bytes(page.data(), static_cast<std::size_t>(page.size()));
  if (page.type() == parquet::PageType::DATA_PAGE) {
    auto const& data = static_cast<parquet::DataPageV1 const&>(page);
    if (!has_levels) return PageValues{data.num_values(), data.encoding(), bytes};
    std::uint32_t length = 0;
    if (data.definition_level_encoding() != parquet::Encoding::RLE || bytes.size() < sizeof(length))
      return std::nullopt;
    std::memcpy(&length, bytes.data(), sizeof(length));
    auto const rest = bytes.subspan(sizeof(length));
    if (length > rest.size() || !is_run_of_ones(rest.first(length), data.num_values())) return std::nullopt;
    return PageValues{data.num_values(), data.encoding(), rest.subspan(length)};
  }
  if (page.type() != parquet::PageType::DATA_PAGE_V2) return std::nullopt;
  auto const& data = static_cast<parquet::DataPageV2 const&>(page);
  auto const length = data.definition_levels_byte_length();
  if (data.repetition_levels_byte_length() != 0 || length < 0 || static_cast<std::size_t>(length) > bytes.size())
    return std::nullopt;
  auto const levels = bytes.first(static_cast<std::size_t>(length));
  if (has_levels && !is_run_of_ones(levels, data.num_values())) return std::nullopt;
  return PageValues{data.num_values(), data.encoding(), bytes.subspan(levels.size())};
}

bool is_of_dictionary(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY;
}

template <class Type>
bool is_packed(parquet::Encoding::type encoding) {
  return std::is_integral_v<typename Type::c_type> && encoding == parquet::Encoding::DELTA_BINARY_PACKED;
}

/// The dictionary of a column chunk.
template <class Type>
std::unique_ptr<parquet::DictDecoder<Type>> dictionary_of(parquet::Page const& page,
                                                          parquet::ColumnDescriptor const& column) {
  auto const& dictionary = static_cast<parquet::DictionaryPage const&>(page);
  auto const values = parquet::MakeTypedDecoder<Type>(parquet::Encoding::PLAIN, &column, memory_pool());
  values->SetData(dictionary.num_values(), dictionary.data(), static_cast<int>(dictionary.size()));
  auto decoder = parquet::MakeDictDecoder<Type>(&column, memory_pool());
  decoder->SetDict(values.get());
  return decoder;
}

/// Where columns are read from.
struct ColumnSource {
  parquet::ParquetFileReader& file;
  arrow::io::RandomAccessFile& bytes;
};

/// Calls take(dictionary, values) with the pages of a row group's column chunk, `dictionary` nullptr before there is
/// one. False: they are not `rows` values without nulls, or one was not taken.
template <class Type, class Take>
bool for_pages(ColumnSource source, int row_group, int leaf, std::int64_t rows, Take const& take) {
  auto const& column = *source.file.metadata()->schema()->Column(leaf);
  ChunkPages pages(source.file, source.bytes, row_group, leaf);
  std::unique_ptr<parquet::DictDecoder<Type>> dictionary;
  while (true) {
    auto const next = pages.next();
    if (!next) return false;
    auto const& page = *next;
    if (page == nullptr) break;
    if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
      if (dictionary != nullptr) return false;
      dictionary = dictionary_of<Type>(*page, column);
      continue;
    }
    auto const values = values_of(*page, column.max_definition_level() > 0);
    if (!values || values->count < 0 || values->count > rows) return false;
    rows -= values->count;
    if (is_of_dictionary(values->encoding) && dictionary == nullptr) return false;
    if (!take(dictionary.get(), *values)) return false;
  }
  return rows == 0;
}

template <class Type>
arrow::Result<std::shared_ptr<arrow::Array>> read_fixed(ColumnSource source, std::vector<int> const& row_groups,
                                                        int leaf, std::shared_ptr<arrow::DataType> const& type) {
  using Value = typename Type::c_type;
  auto const& footer = *source.file.metadata();
  std::int64_t rows = 0;
  for (int const row_group : row_groups) rows += footer.RowGroup(row_group)->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(Value)), memory_pool()));
  auto* next = reinterpret_cast<Value*>(values->mutable_data());
  std::unique_ptr<parquet::TypedDecoder<Type>> direct;
  auto const take = [&](parquet::DictDecoder<Type>* dictionary, PageValues const& page) {
    parquet::TypedDecoder<Type>* decoder = dictionary;
    if (!is_of_dictionary(page.encoding)) {
      if (page.encoding != parquet::Encoding::PLAIN && !is_packed<Type>(page.encoding)) return false;
      if (direct == nullptr || direct->encoding() != page.encoding)
        direct = parquet::MakeTypedDecoder<Type>(page.encoding, footer.schema()->Column(leaf), memory_pool());
      decoder = direct.get();
    }
    decoder->SetData(page.count, page.bytes.data(), static_cast<int>(page.bytes.size()));
    bool const is_whole = decoder->Decode(next, page.count) == page.count;
    next += page.count;
    return is_whole;
  };
  for (int const row_group : row_groups)
    if (!for_pages<Type>(source, row_group, leaf, footer.RowGroup(row_group)->num_rows(), take)) return nullptr;
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {nullptr, std::move(values)}, 0));
}

arrow::Result<std::shared_ptr<arrow::Array>> values_in(parquet::DictDecoder<parquet::ByteArrayType>& dictionary,
                                                       std::shared_ptr<arrow::DataType> const& type) {
  parquet::ByteArray const* values = nullptr;
  std::int32_t count = 0;
  dictionary.GetDictionary(&values, &count);
  arrow::BinaryBuilder builder(memory_pool());
  ARROW_RETURN_NOT_OK(builder.Reserve(count));
  for (std::int32_t i = 0; i < count; ++i)
    ARROW_RETURN_NOT_OK(builder.Append(values[i].ptr, static_cast<std::int32_t>(values[i].len)));
  ARROW_ASSIGN_OR_RAISE(auto const built, builder.Finish());
  return built->View(type);
}

/// The codes of a row group.
arrow::Result<std::shared_ptr<arrow::Array>> read_codes(ColumnSource source, int row_group, int leaf,
                                                        std::shared_ptr<arrow::DataType> const& type) {
  auto const& value_type = static_cast<arrow::DictionaryType const&>(*type).value_type();
  auto const rows = source.file.metadata()->RowGroup(row_group)->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> codes,
                        arrow::AllocateBuffer(rows * std::int64_t{sizeof(std::int32_t)}, memory_pool()));
  auto* next = reinterpret_cast<std::int32_t*>(codes->mutable_data());
  arrow::Result<std::shared_ptr<arrow::Array>> values = arrow::MakeEmptyArray(value_type, memory_pool());
  bool has_values = false;
  auto const take = [&](parquet::DictDecoder<parquet::ByteArrayType>* dictionary, PageValues const& page) {
    if (!is_of_dictionary(page.encoding)) return false;
    if (!std::exchange(has_values, true)) values = values_in(*dictionary, value_type);
    dictionary->SetData(page.count, page.bytes.data(), static_cast<int>(page.bytes.size()));
    bool const is_whole = dictionary->DecodeIndices(page.count, next) == page.count;
    next += page.count;
    return is_whole && values.ok();
  };
  bool const is_read = for_pages<parquet::ByteArrayType>(source, row_group, leaf, rows, take);
  ARROW_ASSIGN_OR_RAISE(auto const dictionary, std::move(values));
  if (!is_read) return nullptr;
  auto data = arrow::ArrayData::Make(type, rows, {nullptr, std::move(codes)}, 0);
  data->dictionary = dictionary->data();
  return arrow::MakeArray(data);
}

}  // namespace

bool may_be_flat(parquet::FileMetaData const& footer, int leaf, arrow::DataType const& type) {
  auto const& column = *footer.schema()->Column(leaf);
  std::int64_t rows = 0;
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    auto const more = footer.RowGroup(i)->num_rows();
    if (more < 0 || more > kMostFileRows - rows) return false;
    rows += more;
  }
  if (column.max_repetition_level() > 0 || column.max_definition_level() > 1 ||
      physical_type(type) != column.physical_type())
    return false;
  if (column.max_definition_level() == 0) return true;
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    auto const statistics = footer.RowGroup(i)->ColumnChunk(leaf)->statistics();
    if (statistics == nullptr || !statistics->HasNullCount() || statistics->null_count() != 0) return false;
  }
  return true;
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> read_flat(parquet::ParquetFileReader& file,
                                                              arrow::io::RandomAccessFile& bytes,
                                                              std::vector<int> const& row_groups, int leaf,
                                                              std::shared_ptr<arrow::DataType> const& type) {
  ColumnSource const source{file, bytes};
  arrow::ArrayVector chunks;
  if (type->id() == arrow::Type::DICTIONARY) {
    for (int const row_group : row_groups) {
      ARROW_ASSIGN_OR_RAISE(auto codes, read_codes(source, row_group, leaf, type));
      chunks.push_back(std::move(codes));
      if (chunks.back() == nullptr) return nullptr;
    }
    return arrow::ChunkedArray::Make(std::move(chunks), type);
  }
  auto const read = [&] {
    switch (file.metadata()->schema()->Column(leaf)->physical_type()) {
      case parquet::Type::INT32:
        return read_fixed<parquet::Int32Type>(source, row_groups, leaf, type);
      case parquet::Type::INT64:
        return read_fixed<parquet::Int64Type>(source, row_groups, leaf, type);
      case parquet::Type::FLOAT:
        return read_fixed<parquet::FloatType>(source, row_groups, leaf, type);
      default:
        return read_fixed<parquet::DoubleType>(source, row_groups, leaf, type);
    }
  };
  ARROW_ASSIGN_OR_RAISE(auto array, read());
  if (array == nullptr) return nullptr;
  chunks.push_back(std::move(array));
  return arrow::ChunkedArray::Make(std::move(chunks), type);
}

}  // namespace garuda::io
