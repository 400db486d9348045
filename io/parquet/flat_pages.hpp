// Data pages of column chunks whose values are none of them null.
#pragma once

#include <parquet/column_page.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "io/arrow_bridge.hpp"
#include "io/parquet/chunk_pages.hpp"

namespace garuda::io {

/// Where columns are read from.
struct ColumnSource {
  parquet::ParquetFileReader& file;
  arrow::io::RandomAccessFile& bytes;
};

/// The values of a page of data, or of a dictionary.
struct PageValues {
  std::int32_t count = 0;
  parquet::Encoding::type encoding = parquet::Encoding::UNKNOWN;
  std::span<std::uint8_t const> bytes;
  std::shared_ptr<arrow::Buffer> kept;  ///< has the bytes as long as it is held; nullptr: they are gone with the page
};

/// The values of a page of data; nullopt: it is none, or one with nulls.
std::optional<PageValues> values_of(parquet::Page const& page, bool has_levels);

/// The values of a dictionary; nullopt: they are not plain.
std::optional<PageValues> dictionary_values_of(parquet::DictionaryPage const& page);

inline bool is_of_dictionary(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY;
}

/// Calls dictionary(values) with the dictionary of a row group's column chunk, if it has one, and data(values) with its
/// pages. False: they are not the row group's values without nulls, or one was not taken.
template <class Dictionary, class Data>
bool for_pages(ColumnSource source, int row_group, int leaf, Dictionary const& dictionary, Data const& data) {
  auto const& footer = *source.file.metadata();
  bool const has_levels = footer.schema()->Column(leaf)->max_definition_level() > 0;
  auto rows = footer.RowGroup(row_group)->num_rows();
  bool has_dictionary = false;
  ChunkPages pages(source.file, source.bytes, row_group, leaf);
  while (true) {
    auto const next = pages.next();
    if (!next) return false;
    auto const& page = *next;
    if (page == nullptr) return rows == 0;
    if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
      auto values = dictionary_values_of(static_cast<parquet::DictionaryPage const&>(*page));
      if (std::exchange(has_dictionary, true) || !values) return false;
      if (pages.stay()) values->kept = page->buffer();
      if (!dictionary(*values)) return false;
      continue;
    }
    auto values = values_of(*page, has_levels);
    if (!values || values->count < 0 || values->count > rows) return false;
    if (pages.stay()) values->kept = page->buffer();
    rows -= values->count;
    if (is_of_dictionary(values->encoding) && !has_dictionary) return false;
    if (!data(*values)) return false;
  }
}

}  // namespace garuda::io
