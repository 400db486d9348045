#include "io/parquet/flat_columns.hpp"

#include <arrow/array/validate.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/buffer.hpp"
#include "io/columns/value_ranges.hpp"
#include "io/parquet/flat_pages.hpp"
#include "io/parquet/flat_strings.hpp"
#include "io/parquet/packed_codes.hpp"

namespace garuda::io {
namespace {

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
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return parquet::Type::BYTE_ARRAY;
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

template <class Type>
bool is_packed(parquet::Encoding::type encoding) {
  return std::is_integral_v<typename Type::c_type> && encoding == parquet::Encoding::DELTA_BINARY_PACKED;
}

/// Values of a fixed width, and where the next ones go.
template <class Type>
class FixedValues {
 public:
  using Value = typename Type::c_type;

  FixedValues(Value* out, parquet::ColumnDescriptor const& column, arrow::DataType const& type)
      : next_(out), column_(column) {
    if (type.id() == arrow::Type::DECIMAL32 || type.id() == arrow::Type::DECIMAL64) greatest_ = greatest_integer(type);
  }

  bool set_dictionary(PageValues const& page) {
    auto const count = static_cast<std::size_t>(page.count);
    if (page.bytes.size() / sizeof(Value) < count) return false;
    kept_ = page.kept;
    if (kept_ == nullptr || std::bit_cast<std::uintptr_t>(page.bytes.data()) % alignof(Value) != 0) {
      copied_.resize(count);
      std::memcpy(copied_.data(), page.bytes.data(), count * sizeof(Value));
      dictionary_ = copied_;
    } else {
      dictionary_ = {reinterpret_cast<Value const*>(page.bytes.data()), count};
    }
    return are_valid(dictionary_);
  }

  /// A column chunk has a dictionary of its own.
  void end_chunk() { dictionary_ = {}; }

  bool add(PageValues const& page) {
    auto* const first = std::exchange(next_, next_ + page.count);
    if (is_of_dictionary(page.encoding)) return CodedValues<Value>(dictionary_, first).decode(page.bytes, page.count);
    if (page.encoding != parquet::Encoding::PLAIN && !is_packed<Type>(page.encoding)) return false;
    if (direct_ == nullptr || direct_->encoding() != page.encoding)
      direct_ = parquet::MakeTypedDecoder<Type>(page.encoding, &column_, memory_pool());
    direct_->SetData(page.count, page.bytes.data(), static_cast<int>(page.bytes.size()));
    return direct_->Decode(first, page.count) == page.count && are_valid({first, static_cast<std::size_t>(page.count)});
  }

 private:
  bool are_valid(std::span<Value const> values) const {
    if constexpr (std::is_integral_v<Value>) return greatest_ == 0 || lie_between(values, -greatest_, greatest_);
    return true;
  }

  Value* next_;
  parquet::ColumnDescriptor const& column_;
  std::int64_t greatest_ = 0;            ///< of the digits of a decimal; 0: it is none
  std::span<Value const> dictionary_;    ///< in the memory of its page, or
  std::shared_ptr<arrow::Buffer> kept_;  ///< has that page
  UnsetVector<Value> copied_;            ///< where it lies elsewhere
  std::unique_ptr<parquet::TypedDecoder<Type>> direct_;
};

template <class Type>
arrow::Result<std::shared_ptr<arrow::Array>> read_fixed(ColumnSource source, std::vector<int> const& row_groups,
                                                        int leaf, std::shared_ptr<arrow::DataType> const& type) {
  using Value = typename Type::c_type;
  auto const& footer = *source.file.metadata();
  std::int64_t rows = 0;
  for (int const row_group : row_groups) rows += footer.RowGroup(row_group)->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(Value)), memory_pool()));
  FixedValues<Type> pages(reinterpret_cast<Value*>(values->mutable_data()), *footer.schema()->Column(leaf), *type);
  auto const set_dictionary = [&](PageValues const& page) { return pages.set_dictionary(page); };
  auto const add = [&](PageValues const& page) { return pages.add(page); };
  for (int const row_group : row_groups) {
    if (!for_pages(source, row_group, leaf, set_dictionary, add)) return nullptr;
    pages.end_chunk();
  }
  auto data = arrow::ArrayData::Make(type, rows, {nullptr, std::move(values)}, 0);
  bool const is_checked = type->id() == arrow::Type::DECIMAL32 || type->id() == arrow::Type::DECIMAL64;
  if (!is_checked) ARROW_RETURN_NOT_OK(arrow::internal::ValidateArrayFull(*data));
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
      case parquet::Type::BYTE_ARRAY:
        return read_views(source, row_groups, leaf, type);
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
