#include "keys/key_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/key_layout.hpp"
#include "keys/word_bounds.hpp"

namespace garuda::keys {
namespace {

/// Rows for each value of a dictionary from which it is taken for used: what slots of unused values cost is then less
/// than a pass over the codes.
constexpr std::uint64_t kRowsPerUnusedCode = 64;

constexpr std::uint64_t kMaxWord32 = std::numeric_limits<std::uint32_t>::max();

/// Memory of a thread that works on blocks.
struct Scratch {
  AttributeCodes codes;
  std::vector<std::uint8_t> keep;
  std::vector<std::uint32_t> kept;
  std::vector<std::uint64_t> words;
};

/// Takes rows out of `keep` whose codes are not in the range, or are null where it has no nulls.
void mark_within(AttributeReader const& reader, RowBlock const& block, CodeRange const& range, AttributeCodes& codes,
                 std::vector<std::uint8_t>& keep) {
  auto const min = static_cast<std::uint64_t>(range.min);
  auto const last = static_cast<std::uint64_t>(range.max - range.min);
  auto const native = reader.native_integers(block);
  if (native && native->validity == nullptr && range.has_values)
    return visit_integers(native->width, native->is_signed, [&]<class T>(T*) {
      auto* const out = keep.data();
      for (std::int64_t i = 0; i < block.length; ++i) {
        auto const code = static_cast<std::uint64_t>(load<T>(native->values, i)) + native->zero;
        out[i] = static_cast<std::uint8_t>(out[i] & (code - min <= last ? 1 : 0));
      }
    });
  reader.read(block, codes);
  auto const keep_if = [&](auto const& is_within) {
    for (std::size_t i = 0; i < keep.size(); ++i)
      keep[i] = static_cast<std::uint8_t>((codes.valid[i] != 0 ? is_within(i) : range.has_nulls) ? keep[i] : 0);
  };
  if (!range.has_values) return keep_if([](std::size_t) { return false; });
  if (reader.is_wide())
    return keep_if([&](std::size_t i) { return codes.wide(i) >= range.min && codes.wide(i) <= range.max; });
  keep_if([&, min, last](std::size_t i) { return codes.low[i] - min <= last; });
}

/// Which rows of the block get words: those whose codes are within `limits`, an attribute each, or where there are
/// none, those that have no null in any key column. 1 or 0 a row of `keep`. Returns their number.
std::uint64_t mark_kept(OpenKeys const& keys, std::span<CodeRange const> limits, RowBlock const& block,
                        AttributeCodes& codes, std::vector<std::uint8_t>& keep) {
  auto const rows = static_cast<std::size_t>(block.length);
  keep.assign(rows, 1);
  bool any = !limits.empty();
  for (std::size_t a = 0; a < keys.readers.size(); ++a)
    if (limits.empty())
      any = keys.readers[a].mark_nulls(block, keep.data()) || any;
    else
      mark_within(keys.readers[a], block, limits[a], codes, keep);
  return any ? std::accumulate(keep.begin(), keep.end(), std::uint64_t{0}) : rows;
}

/// Writes the words of one table, block by block.
class TableWriter {
 public:
  TableWriter(OpenKeys const& keys, KeyScan const& scan, std::span<CodeRange const> limits, KeyLayout const& layout,
              WordOrder order)
      : keys_(keys), scan_(scan), limits_(limits), layout_(layout), order_(order) {
    if (layout.is_packed) out_.packed.key_bits = layout.key_bits();
    out_.packed.num_rows = scan.num_keys();
    out_.packed.table_rows = static_cast<std::uint64_t>(keys.table.num_rows());
  }

  Result<EncodedTable> borrow(std::vector<WordPart> parts) {
    if (parts.size() == 1)
      out_.packed.words = parts.front().words;
    else
      out_.parts = std::move(parts);
    set_range(range_of_codes(scan_.ranges[0], layout_.positions(0)), out_.packed);
    return std::move(out_);
  }

  /// `indices`: of a dictionary column, the numbers of its values.
  Result<EncodedTable> borrow(std::uint32_t const* indices, Control const& control) {
    out_.packed.words = indices;
    auto const& codes = scan_.ranges[0];
    auto const values = static_cast<std::uint64_t>(codes.max - codes.min) + 1;
    if (values > scan_.num_keys() / kRowsPerUnusedCode) {
      GARUDA_TRY(measure_words(out_.packed, control));
    } else {
      set_range(range_of_codes(codes, layout_.positions(0)), out_.packed);
    }
    return std::move(out_);
  }

  Result<EncodedTable> write(Control const& control) {
    GARUDA_TRY(allocate());
    PackedRange total;
    std::mutex mutex;
    auto const finding = range_finding();
    GARUDA_TRY(for_each_block(keys_.blocks.size(), &control, [&](std::size_t b) {
      Scratch scratch;
      auto const rows = kept_rows(b, scratch);
      write_row_ids(b, rows);
      if (!layout_.is_packed) return write_words(b, rows, scratch);
      auto const range = out_.packed.key_bits == 32 ? pack_block<std::uint32_t>(b, rows, finding, scratch)
                                                    : pack_block<std::uint64_t>(b, rows, finding, scratch);
      std::lock_guard const lock(mutex);
      total.add(range);
    }));
    if (!layout_.is_packed) return std::move(out_);
    if (finding == RangeFinding::from_codes) total = range_of_codes(scan_.ranges[0], layout_.positions(0));
    if (finding == RangeFinding::by_positions) bound_by_positions(scan_.ranges, layout_, total);
    set_range(total, out_.packed);
    return std::move(out_);
  }

 private:
  Result<AlignedBuffer> rows_of(std::uint64_t bytes) const {
    return AlignedBuffer::allocate(static_cast<std::int64_t>(scan_.num_keys() * bytes));
  }

  Result<void> allocate() {
    auto& packed = out_.packed;
    if (packed.num_rows != packed.table_rows && packed.num_rows > 0) {
      GARUDA_TRY_ASSIGN(packed.row_ids, rows_of(has_wide_rows() ? 8 : 4));
    }
    if (layout_.is_packed) {
      GARUDA_TRY_ASSIGN(packed.owned_words, rows_of(packed.key_bits / 8));
      packed.words = packed.owned_words.data();
      return {};
    }
    auto const num_words = layout_.rows.num_words;
    bool const by_row = order_ == WordOrder::rows;
    for (std::uint32_t w = 0; w < (by_row ? 1 : num_words); ++w) {
      GARUDA_TRY_ASSIGN(auto buffer, rows_of(sizeof(std::uint64_t) * (by_row ? num_words : 1)));
      out_.words.push_back(std::move(buffer));
    }
    return {};
  }

  bool has_wide_rows() const { return out_.packed.table_rows > std::uint64_t{1} << 32; }
  std::uint64_t num_keys(std::size_t b) const { return scan_.first_keys[b + 1] - scan_.first_keys[b]; }
  bool is_whole(std::size_t b) const { return num_keys(b) == static_cast<std::uint64_t>(keys_.blocks[b].length); }

  /// The rows that get words.
  RowsOfBlock kept_rows(std::size_t b, Scratch& scratch) const {
    if (is_whole(b)) return std::nullopt;
    mark_kept(keys_, limits_, keys_.blocks[b], scratch.codes, scratch.keep);
    // One more than there may be: each row is written, and the next one over it unless it is kept.
    scratch.kept.resize(scratch.keep.size() + 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < scratch.keep.size(); ++i) {
      scratch.kept[count] = static_cast<std::uint32_t>(i);
      count += scratch.keep[i];
    }
    // As many as were counted, also where the caller's memory has changed since.
    return std::span<std::uint32_t const>(scratch.kept).first(num_keys(b));
  }

  void write_row_ids(std::size_t b, RowsOfBlock const& rows) {
    if (out_.packed.row_ids.size_bytes() == 0) return;
    if (has_wide_rows())
      write_row_ids(b, rows, out_.packed.row_ids.as<std::uint64_t>());
    else
      write_row_ids(b, rows, out_.packed.row_ids.as<std::uint32_t>());
  }

  template <class Row>
  void write_row_ids(std::size_t b, RowsOfBlock const& rows, Row* row_ids) const {
    auto const first = static_cast<Row>(keys_.blocks[b].first_row);
    auto const count = num_keys(b);
    row_ids += scan_.first_keys[b];
    for (std::uint64_t i = 0; i < count; ++i) row_ids[i] = static_cast<Row>(first + (rows ? (*rows)[i] : i));
  }

  /// How bounds of packed words are found.
  enum class RangeFinding : std::uint8_t {
    from_codes,    ///< the range of the only attribute's codes is known
    by_positions,  ///< follow from the ranges of several; which bits vary is seen in the words
    from_words,    ///< codes are not all there, or nulls of one attribute are words: read once more
  };

  RangeFinding range_finding() const {
    if (!limits_.empty() ||
        std::ranges::any_of(keys_.readers, [](auto const& reader) { return reader.last_code().has_value(); }))
      return RangeFinding::from_words;
    if (layout_.ranges.size() > 1) return RangeFinding::by_positions;
    return layout_.ranges[0].has_nulls ? RangeFinding::from_words : RangeFinding::from_codes;
  }

  template <class Word>
  PackedRange pack_block(std::size_t b, RowsOfBlock const& rows, RangeFinding finding, Scratch& scratch) {
    auto* const words = out_.packed.owned_words.as<Word>() + scan_.first_keys[b];
    for (std::size_t a = 0; a < keys_.readers.size(); ++a)
      pack_attribute(keys_.readers[a], layout_.positions(a), keys_.blocks[b], rows, a == 0, scratch.codes, words);
    PackedRange range;
    if (finding == RangeFinding::from_words) range.add(words, num_keys(b));
    if (finding == RangeFinding::by_positions) range.add_varying(words, num_keys(b));
    return range;
  }

  /// Words form.
  void write_words(std::size_t b, RowsOfBlock const& rows, Scratch& scratch) {
    auto const count = num_keys(b);
    auto const num_words = layout_.rows.num_words;
    bool const by_row = order_ == WordOrder::rows;
    if (by_row) scratch.words.resize(count * num_words);
    std::vector<std::uint64_t*> columns;
    for (std::uint32_t w = 0; w < num_words; ++w)
      columns.push_back(by_row ? scratch.words.data() + w * count
                               : out_.words[w].as<std::uint64_t>() + scan_.first_keys[b]);
    for (std::size_t a = 0; a < keys_.readers.size(); ++a) {
      auto const& place = layout_.rows.attributes[a];
      if (place.is_wide)
        split_attribute(a, b, rows, scratch.codes, std::span(columns).subspan(place.word));
      else
        pack_attribute(keys_.readers[a], layout_.ranges[a], keys_.blocks[b], rows, place.is_first, scratch.codes,
                       columns[place.word]);
    }
    if (!by_row) return fold_words(columns, count);
    auto* const out = out_.words[0].as<std::uint64_t>() + scan_.first_keys[b] * num_words;
    for (std::uint32_t w = 0; w < num_words; ++w)
      for (std::uint64_t i = 0; i < count; ++i) out[i * num_words + w] = columns[w][i];
  }

  /// An attribute that takes words of its own.
  void split_attribute(std::size_t a, std::size_t b, RowsOfBlock const& rows, AttributeCodes& codes,
                       std::span<std::uint64_t* const> words) const {
    auto const& range = layout_.ranges[a];
    auto const& reader = keys_.readers[a];
    reader.read(keys_.blocks[b], codes);
    for (std::uint64_t i = 0; i < num_keys(b); ++i) {
      auto const row = rows ? std::size_t{(*rows)[i]} : i;
      bool const is_valid = codes.valid[row] != 0;
      auto const offset = is_valid ? (reader.is_wide() ? codes.wide(row) : UInt128{codes.low[row]}) - range.min : 0;
      words[0][i] = static_cast<std::uint64_t>(offset);
      words[1][i] = static_cast<std::uint64_t>(offset >> 64);
      if (range.has_nulls) words[2][i] = is_valid ? 0 : 1;
    }
  }

  OpenKeys const& keys_;
  KeyScan const& scan_;
  std::span<CodeRange const> limits_;
  KeyLayout const& layout_;
  WordOrder order_;
  EncodedTable out_;
};

/// How many rows of the block have no null in any key column.
std::uint64_t count_kept(OpenKeys const& keys, RowBlock const& block, Scratch& scratch) {
  auto const native = keys.readers.size() == 1 ? keys.readers[0].native_integers(block) : std::nullopt;
  if (!native || native->validity == nullptr) return mark_kept(keys, {}, block, scratch.codes, scratch.keep);
  return static_cast<std::uint64_t>(count_ones(native->validity, native->first_bit, block.length));
}

Result<KeyScan> scan_table(OpenKeys const& keys, NullKeys nulls, Control const& control) {
  KeyScan scan;
  scan.ranges.resize(keys.readers.size());
  scan.first_keys.resize(keys.blocks.size() + 1);
  std::mutex mutex;
  GARUDA_TRY(for_each_block(keys.blocks.size(), &control, [&](std::size_t b) {
    auto const& block = keys.blocks[b];
    Scratch scratch;
    std::vector<CodeRange> ranges;
    bool has_nulls = false;
    for (auto const& reader : keys.readers) {
      ranges.push_back(scan_range(reader, block, scratch.codes));
      has_nulls = has_nulls || ranges.back().has_nulls;
    }
    // As many as rows, and turned into positions below.
    bool const are_left_out = has_nulls && nulls == NullKeys::left_out;
    scan.first_keys[b + 1] = are_left_out ? count_kept(keys, block, scratch) : static_cast<std::uint64_t>(block.length);
    std::lock_guard const lock(mutex);
    for (std::size_t a = 0; a < ranges.size(); ++a) scan.ranges[a].add(ranges[a]);
  }));
  std::partial_sum(scan.first_keys.begin(), scan.first_keys.end(), scan.first_keys.begin());
  if (nulls == NullKeys::left_out)
    for (auto& range : scan.ranges) range.has_nulls = false;
  return scan;
}

}  // namespace

Result<std::vector<OpenKeys>> open_keys(std::span<KeyColumns const> tables, Control const& control,
                                        std::uint32_t hash_bits) {
  GARUDA_EXPECTS((tables.size() == 1 || tables.size() == 2) && !tables[0].columns.empty() &&
                 tables.back().columns.size() == tables[0].columns.size());
  std::vector<OpenKeys> open;
  for (auto const& [table, columns] : tables) open.push_back({table, columns, {}, cut_row_blocks(table)});
  auto const field_of = [&](std::size_t t, std::size_t c) -> Field const& {
    auto const column = tables[t].columns[c];
    GARUDA_EXPECTS(column < tables[t].table.num_columns());
    return tables[t].table.schema()[column];
  };
  for (std::size_t c = 0; c < tables[0].columns.size(); ++c) {
    auto type = field_of(0, c).type;
    if (tables.size() == 2) {
      GARUDA_TRY_ASSIGN(auto common, common_key_type(field_of(0, c), field_of(1, c)));
      type = std::move(common.compared);
    }
    std::vector<KeyColumn> columns;
    for (auto const& keys : open) {
      GARUDA_TRY_ASSIGN(auto column, open_key_column(keys.table, keys.columns[c], type, control));
      columns.push_back(std::move(column));
    }
    GARUDA_TRY_ASSIGN(auto codes, give_codes(columns, type, control, hash_bits));
    for (std::size_t t = 0; t < open.size(); ++t)
      open[t].readers.emplace_back(std::move(columns[t]), type, std::move(codes[t]));
  }
  return open;
}

Result<void> measure_words(EncodedKeys& keys, Control const& control) {
  auto const words = keys.words32();
  PackedRange total;
  std::mutex mutex;
  GARUDA_TRY(for_each_range(words.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    PackedRange range;
    range.add(words.data() + begin, end - begin);
    std::lock_guard const lock(mutex);
    total.add(range);
  }));
  set_range(total, keys);
  return {};
}

Result<void> KeyEncoder::scan() {
  for (auto const& table : tables_) {
    GARUDA_TRY_ASSIGN(auto scan, scan_table(table, nulls_, control_));
    scans_.push_back(std::move(scan));
  }
  return {};
}

/// The arrays that hold all keys of a table as words of the layout, if there are such.
std::vector<WordPart> KeyEncoder::words_in_place(std::size_t table) const {
  auto const& keys = tables_[table];
  auto const& scan = scans_[table];
  if (keys.readers.size() != 1 || scan.num_keys() == 0 || scan.ranges[0].has_nulls) return {};
  if (scan.num_keys() != static_cast<std::uint64_t>(keys.table.num_rows())) return {};
  auto const width = static_cast<std::int32_t>(layout_.key_bits() / 8);
  auto parts = words_of_table(keys.readers[0], keys.table, keys.columns[0], width);
  return in_parts_ || parts.size() == 1 ? std::move(parts) : std::vector<WordPart>{};
}

/// The value of word 0 when a table's words are in place.
std::optional<std::uint64_t> KeyEncoder::zero_in_place(bool signs_in_place) const {
  auto const zero = tables_[0].readers[0].zero_in_place();
  if (!layout_.is_packed || layout_.ranges.size() != 1 || !zero) return std::nullopt;
  auto const& range = layout_.ranges[0];
  if (!range.has_values || range.has_nulls) return std::nullopt;
  // Words of 64 bits hold every key as it is; those of 32 only keys that have no more.
  bool const are_words = layout_.key_bits() == 64 ? range.min >= *zero || signs_in_place
                                                  : range.min >= *zero && range.max - *zero <= kMaxWord32;
  if (!are_words) return std::nullopt;
  for (std::size_t t = 0; t < tables_.size(); ++t)
    if (!words_in_place(t).empty()) return zero;
  return std::nullopt;
}

Result<void> KeyEncoder::choose_layout(KeyForm form, bool signs_in_place, bool in_parts) {
  layout_ = {};
  limits_.assign(tables_.size(), {});
  in_parts_ = in_parts;
  layout_.ranges.resize(tables_[0].readers.size());
  for (auto const& scan : scans_)
    for (std::size_t a = 0; a < scan.ranges.size(); ++a) layout_.ranges[a].add(scan.ranges[a]);
  layout_.packed_bits = packed_bits(layout_.ranges);
  if (form == KeyForm::packed && layout_.packed_bits > 64)
    return fail(ErrorCode::usage,
                fmt::format("keys=packed needs keys of at most 64 bits together: {}", layout_.packed_bits));
  layout_.is_packed = is_packed_in(form, layout_.packed_bits);
  if (!layout_.is_packed) layout_.rows = place_attributes(layout_.ranges);
  layout_.zero_in_place = zero_in_place(signs_in_place);
  return {};
}

/// The codes of an attribute that have a word in `layout`.
CodeRange KeyEncoder::codes_of_words(KeyLayout const& layout, std::size_t attribute) {
  auto range = layout.ranges[attribute];
  if (layout.zero_in_place) {
    range.min = layout.key_bits() == 32 ? *layout.zero_in_place : 0;
    range.max = layout.key_bits() == 32 ? range.min + kMaxWord32 : std::numeric_limits<std::uint64_t>::max();
  }
  return range;
}

Result<std::optional<EncodedKeys>> KeyEncoder::encode_few(std::size_t table, KeyLayout const& layout) const {
  auto const& open = tables_[table];
  EncodedKeys keys;
  keys.table_rows = static_cast<std::uint64_t>(open.table.num_rows());
  bool const can_be = layout.is_packed && layout.ranges.size() == 1 && !layout.zero_in_place &&
                      keys.table_rows <= kFewRows && !open.readers[0].last_code();
  if (!can_be) return std::nullopt;
  std::vector<NativeIntegers> natives;
  for (auto const& block : open.blocks) {
    auto const native = open.readers[0].native_integers(block);
    if (!native || native->validity != nullptr) return std::nullopt;
    natives.push_back(*native);
  }
  keys.key_bits = layout.key_bits();
  GARUDA_TRY_ASSIGN(keys.row_ids, AlignedBuffer::allocate(static_cast<std::int64_t>(4 * keys.table_rows + 4)));
  GARUDA_TRY_ASSIGN(keys.owned_words,
                    AlignedBuffer::allocate(static_cast<std::int64_t>((keys.table_rows + 1) * keys.key_bits / 8)));
  keys.words = keys.owned_words.data();
  auto const& range = layout.ranges[0];
  auto const least = static_cast<std::uint64_t>(range.min);
  auto const last = static_cast<std::uint64_t>(range.max - range.min);
  auto const write = [&]<class Word>(Word* const words) {
    auto* const rows = keys.row_ids.as<std::uint32_t>();
    std::size_t count = 0;
    for (std::size_t b = 0; b < natives.size() && range.has_values; ++b)
      visit_integers(natives[b].width, natives[b].is_signed, [&]<class T>(T*) {
        auto const base = natives[b].zero - least;
        auto const first = static_cast<std::uint32_t>(open.blocks[b].first_row);
        // The place behind the last word is written always, and kept where the key has one.
        for (std::int64_t i = 0; i < open.blocks[b].length; ++i) {
          auto const offset = static_cast<std::uint64_t>(load<T>(natives[b].values, i)) + base;
          words[count] = static_cast<Word>(offset + (range.has_nulls ? 1 : 0));
          rows[count] = first + static_cast<std::uint32_t>(i);
          count += offset <= last ? 1 : 0;
        }
      });
    keys.num_rows = count;
    PackedRange found;
    found.add(words, count);
    set_range(found, keys);
  };
  if (keys.key_bits == 32)
    write(keys.owned_words.as<std::uint32_t>());
  else
    write(keys.owned_words.as<std::uint64_t>());
  if (keys.num_rows == keys.table_rows) keys.row_ids = {};
  return keys;
}

Result<void> KeyEncoder::take_layout(KeyLayout layout) {
  layout_ = std::move(layout);
  limits_.resize(tables_.size());
  std::vector<CodeRange> limits;
  for (std::size_t a = 0; a < layout_.ranges.size(); ++a) limits.push_back(codes_of_words(layout_, a));
  auto const has_words = [](CodeRange const& found, CodeRange const& limit) {
    if (found.has_nulls && !limit.has_nulls) return false;
    return !found.has_values || (limit.has_values && found.min >= limit.min && found.max <= limit.max);
  };
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    auto& scan = scans_[t];
    if (std::ranges::equal(scan.ranges, limits, has_words)) continue;
    GARUDA_TRY(for_each_block(tables_[t].blocks.size(), &control_, [&](std::size_t b) {
      Scratch scratch;
      scan.first_keys[b + 1] = mark_kept(tables_[t], limits, tables_[t].blocks[b], scratch.codes, scratch.keep);
    }));
    std::partial_sum(scan.first_keys.begin(), scan.first_keys.end(), scan.first_keys.begin());
    limits_[t] = limits;
  }
  return {};
}

/// The indices of a table's dictionary column, if they are words of the layout; else nullptr.
std::uint32_t const* KeyEncoder::indices_in_place(std::size_t table) const {
  if (!layout_.is_packed || layout_.ranges.size() != 1 || layout_.key_bits() != 32) return nullptr;
  auto const& range = layout_.ranges[0];
  if (!range.has_values || range.has_nulls || range.min != 0 || scans_[table].num_keys() == 0) return nullptr;
  auto const* const numbers = tables_[table].readers[0].plain_numbers();
  return numbers != nullptr && numbers->memory == nullptr ? numbers->codes : nullptr;
}

Result<EncodedTable> KeyEncoder::encode(std::size_t table, WordOrder order) const {
  TableWriter writer(tables_[table], scans_[table], limits_[table], layout_, order);
  if (auto const* const indices = indices_in_place(table)) return writer.borrow(indices, control_);
  auto parts = layout_.zero_in_place ? words_in_place(table) : std::vector<WordPart>{};
  return parts.empty() ? writer.write(control_) : writer.borrow(std::move(parts));
}

}  // namespace garuda::keys
