// Strings of all batches lie behind one another, in as many pieces as their bytes fill; offsets are made on the host
// before, bytes while they go up.
#include "operators/device/strings/string_upload.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>

#include "operators/device/device_table.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint32_t);
constexpr std::uint64_t kWordBits = 32;
constexpr std::uint64_t kOffsetsAtOnce = std::uint64_t{1} << 16;

std::uint64_t words_of(std::uint64_t bytes) { return (bytes + kWord - 1) / kWord; }

}  // namespace

/// Strings that will lie together, and their bytes as they go up.
class StringUpload::PieceBytes final : public vk::HostSource {
 public:
  explicit PieceBytes(ValueLayout layout) : layout_(layout) {}

  /// Adds as many of the strings [begin, begin + count) of an array's buffers as there is room for; returns how many.
  std::uint64_t add(ArrayView const& array, std::int64_t begin, std::uint64_t count, std::uint64_t most_bytes) {
    auto const first_byte = bytes_;
    std::uint64_t taken = 0;
    if (layout_ == ValueLayout::views) {
      for (; taken < count; ++taken) {
        auto const bytes = variable_value(array, layout_, begin + static_cast<std::int64_t>(taken)).size();
        if (bytes > most_bytes - bytes_) break;
        bytes_ += bytes;
      }
    } else {
      auto const ends = std::views::iota(std::uint64_t{1}, count + 1);
      auto const fits = [&](std::uint64_t strings) {
        return bytes_of(array, begin, strings) <= most_bytes - first_byte;
      };
      taken = static_cast<std::uint64_t>(std::ranges::partition_point(ends, fits) - ends.begin());
      bytes_ += bytes_of(array, begin, taken);
    }
    if (taken > 0) runs_.push_back({&array, begin, taken, count_, first_byte});
    count_ += taken;
    return taken;
  }

  /// Writes the offsets, once all strings are there.
  Result<void> write_offsets() {
    GARUDA_TRY_ASSIGN(offsets_, AlignedBuffer::allocate(static_cast<std::int64_t>((count_ + 1) * kWord)));
    auto* const offsets = offsets_.as<std::uint32_t>();
    for (auto const& run : runs_) write_offsets(run, offsets + run.first);
    offsets[count_] = static_cast<std::uint32_t>(bytes_);
    return {};
  }

  void write(std::uint64_t first, std::span<std::byte> out) const override {
    auto const* const offsets = offsets_.as<std::uint32_t>();
    auto const end = std::min(first + out.size(), bytes_);
    // The string of the first byte: the last one that begins there or before.
    auto at = static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + count_, first) - offsets) - 1;
    auto run = std::ranges::upper_bound(runs_, at, {}, &Run::first) - 1;
    auto byte = first;
    while (byte < end) {
      for (; at >= run->first + run->count; ++run) {
      }
      // What lies behind offsets is copied at once to the end of its run.
      auto const last = layout_ == ValueLayout::views ? at : run->first + run->count - 1;
      auto const stop = std::min<std::uint64_t>(end, offsets[last + 1]);
      if (stop > byte) {
        auto const value =
            variable_value(*run->array, layout_, run->begin + static_cast<std::int64_t>(at - run->first));
        // A value without bytes is not where those behind it are.
        if (value.empty()) {
          ++at;
          continue;
        }
        std::memcpy(out.data() + (byte - first), value.data() + (byte - offsets[at]), stop - byte);
        byte = stop;
      }
      at = last + 1;
    }
    // To whole words.
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(std::max(end, first) - first), out.end(), std::byte{0});
  }

  /// Writes which strings are values, if there are nulls among them.
  Result<void> write_validity() {
    if (std::ranges::none_of(runs_, [](Run const& run) { return count_nulls(*run.array) > 0; })) return {};
    auto const words = (count_ + kWordBits - 1) / kWordBits;
    GARUDA_TRY_ASSIGN(valid_, AlignedBuffer::allocate(static_cast<std::int64_t>(words * kWord)));
    std::memset(valid_.data(), 0, words * kWord);
    for (auto const& run : runs_)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        auto const row = run.begin - run.array->offset + static_cast<std::int64_t>(i);
        auto const at = run.first + i;
        if (!run.array->is_null(row)) valid_.as<std::uint32_t>()[at / kWordBits] |= 1U << at % kWordBits;
      }
    return {};
  }

  std::uint64_t count() const noexcept { return count_; }
  AlignedBuffer& valid() noexcept { return valid_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  AlignedBuffer& offsets() noexcept { return offsets_; }

 private:
  /// Strings of one array that follow each other in a piece.
  struct Run {
    ArrayView const* array = nullptr;
    std::int64_t begin = 0;  ///< in the array's buffers
    std::uint64_t count = 0;
    std::uint64_t first = 0;       ///< in the piece
    std::uint64_t first_byte = 0;  ///< likewise
  };

  std::int64_t offset(ArrayView const& array, std::int64_t at) const {
    return layout_ == ValueLayout::offsets32 ? static_cast<std::int32_t const*>(array.offsets)[at]
                                             : static_cast<std::int64_t const*>(array.offsets)[at];
  }
  /// Bytes of strings behind offsets.
  std::uint64_t bytes_of(ArrayView const& array, std::int64_t begin, std::uint64_t count) const {
    return static_cast<std::uint64_t>(offset(array, begin + static_cast<std::int64_t>(count)) - offset(array, begin));
  }

  void write_offsets(Run const& run, std::uint32_t* out) const {
    if (layout_ == ValueLayout::views) {
      auto byte = run.first_byte;
      for (std::uint64_t i = 0; i < run.count; ++i) {
        out[i] = static_cast<std::uint32_t>(byte);
        byte += variable_value(*run.array, layout_, run.begin + static_cast<std::int64_t>(i)).size();
      }
      return;
    }
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, run.count, kOffsetsAtOnce), [&](auto const& range) {
      for (auto i = range.begin(); i < range.end(); ++i)
        out[i] = static_cast<std::uint32_t>(run.first_byte + bytes_of(*run.array, run.begin, i));
    });
  }

  ValueLayout layout_;
  std::vector<Run> runs_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  AlignedBuffer offsets_;
  AlignedBuffer valid_;  ///< empty: all are values
};

/// Indices of a dictionary column, into one dictionary of all batches, as words.
class StringUpload::Codes final : public vk::HostSource {
 public:
  explicit Codes(Gatherer gatherer) : gatherer_(std::move(gatherer)), schema_(gatherer_.schema()) {
    schema_[0].type = DataType{schema_[0].type.index};
  }

  void write(std::uint64_t first, std::span<std::byte> out) const override {
    std::vector<std::int64_t> rows(words_of(first % kWord + out.size()));
    std::iota(rows.begin(), rows.end(), static_cast<std::int64_t>(first / kWord));
    auto gathered = gatherer_.gather(std::span<std::int64_t const>(rows));
    if (!gathered) throw std::bad_alloc();
    std::vector<std::byte> words(rows.size() * kWord);
    auto const batch = gathered->batch.view();
    materialize::read_words(TableView(schema_, std::span(&batch, 1)), 0, 1, 0, rows.size(), words.data());
    std::memcpy(out.data(), words.data() + first % kWord, out.size());
  }

 private:
  Gatherer gatherer_;
  Schema schema_;
};

StringUpload::StringUpload() = default;
StringUpload::~StringUpload() = default;

Result<std::unique_ptr<StringUpload>> StringUpload::create(TableView table, std::size_t column, vk::Device& device,
                                                           vk::MemoryUse use, std::uint64_t most_bytes) {
  std::unique_ptr<StringUpload> upload(new StringUpload());
  upload->type_ = table.schema()[column].type;
  upload->rows_ = static_cast<std::uint64_t>(table.num_rows());
  auto strings = std::make_shared<Strings>();
  if (upload->type_.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(auto gatherer, Gatherer::create(table, std::span(&column, 1)));
    upload->type_ = gatherer.schema()[0].type;
    GARUDA_TRY_ASSIGN(auto const none, gatherer.gather(std::span<std::int64_t const>()));
    strings->dictionary = {none.batch.owner, none.batch.columns[0].dictionary};
    upload->arrays_.push_back(*strings->dictionary);
    upload->codes_ = std::make_unique<Codes>(std::move(gatherer));
  } else {
    for (std::size_t b = 0; b < table.num_batches(); ++b) upload->arrays_.push_back(table.batch(b).columns[column]);
  }
  auto const& values = upload->has_codes() ? *upload->type_.value : upload->type_;
  auto const measured = upload->measure(values, most_bytes);
  if (!measured)
    return fail(measured.error().code(),
                fmt::format("column '{}': {}", table.schema()[column].name, measured.error().message()));
  for (auto const& piece : upload->pieces_) {
    auto& stored = strings->pieces.emplace_back();
    auto bytes = std::make_shared<StringBytes>();
    auto const room = (words_of(piece->bytes()) + 1) * kWord;
    auto const offset_bytes = (piece->count() + 1) * kWord;
    bytes->arena = column_arena(device, room + offset_bytes);
    bytes->count = piece->count();
    bytes->num_bytes = piece->bytes();
    GARUDA_TRY_ASSIGN(bytes->offsets, bytes->arena->buffer({offset_bytes, use, 0, "offsets of strings"}));
    GARUDA_TRY_ASSIGN(bytes->bytes, bytes->arena->buffer({room, use, 0, "bytes of strings"}));
    if (auto const valid = static_cast<std::uint64_t>(piece->valid().size_bytes()); valid > 0) {
      GARUDA_TRY_ASSIGN(bytes->valid, bytes->arena->buffer({valid, use, 0, "values of a dictionary"}));
    }
    stored = std::move(bytes);
  }
  upload->strings_ = std::move(strings);
  return upload;
}

Result<void> StringUpload::measure(DataType const& type, std::uint64_t most_bytes) {
  auto const layout = value_layout(type);
  std::uint64_t strings = 0;
  for (auto const& array : arrays_) {
    auto const count = static_cast<std::uint64_t>(array.length);
    for (std::uint64_t done = 0; done < count;) {
      if (pieces_.empty()) pieces_.push_back(std::make_unique<PieceBytes>(layout));
      auto const taken =
          pieces_.back()->add(array, array.offset + static_cast<std::int64_t>(done), count - done, most_bytes);
      done += taken;
      if (done == count) break;
      if (taken == 0 && pieces_.back()->count() == 0)
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("a value of more than {} bytes is not kept on a device: string {}", most_bytes,
                                strings + done));
      pieces_.push_back(std::make_unique<PieceBytes>(layout));
    }
    strings += count;
  }
  if (strings > compute::kMostStrings)
    return fail(ErrorCode::limit_exceeded, fmt::format("a column on a device has at most 2^31 strings: {}", strings));
  if (pieces_.size() > compute::kMostStringPieces)
    return fail(ErrorCode::limit_exceeded, fmt::format("a column on a device has at most {} times {} bytes: {} times",
                                                       compute::kMostStringPieces, most_bytes, pieces_.size()));
  for (auto const& piece : pieces_) {
    GARUDA_TRY(piece->write_offsets());
    // No row refers to a null of a dictionary, which as a string is an empty one; elsewhere a null stays its row's.
    if (has_codes()) GARUDA_TRY(piece->write_validity());
  }
  return {};
}

std::vector<vk::HostCopy> StringUpload::copies(vk::Buffer const& numbers) const {
  std::vector<vk::HostCopy> copies;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    auto& piece = *pieces_[i];
    auto const& stored = *strings_->pieces[i];
    copies.push_back({&stored.offsets, 0, piece.offsets().data(), (piece.count() + 1) * kWord});
    if (auto const valid = static_cast<std::uint64_t>(piece.valid().size_bytes()); valid > 0)
      copies.push_back({&stored.valid, 0, piece.valid().data(), valid});
    if (auto const bytes = words_of(piece.bytes()) * kWord; bytes > 0)
      copies.push_back({&stored.bytes, 0, nullptr, bytes, &piece, 0});
  }
  if (has_codes() && rows_ > 0) copies.push_back({&numbers, 0, nullptr, rows_ * kWord, codes_.get(), 0});
  return copies;
}

std::shared_ptr<Strings const> outline_strings(TableView table, std::size_t column) {
  /// Guessed bytes of a view, or of a value of a dictionary.
  constexpr double kGuessedBytes = 16;
  auto const& type = table.schema()[column].type;
  auto piece = std::make_shared<StringBytes>();
  piece->count = static_cast<std::uint64_t>(table.num_rows());
  if (type.id == TypeId::dictionary) {
    // All batches together have at least as many values as the largest dictionary.
    piece->count = 0;
    for (std::size_t b = 0; b < table.num_batches(); ++b)
      if (auto const* const values = table.batch(b).columns[column].dictionary)
        piece->count = std::max(piece->count, static_cast<std::uint64_t>(values->length));
  }
  auto const each = is_variable_width(type) ? materialize::mean_value_bytes(table, column) : kGuessedBytes;
  piece->num_bytes = static_cast<std::uint64_t>(each * static_cast<double>(piece->count));
  auto strings = std::make_shared<Strings>();
  strings->pieces.push_back(std::move(piece));
  return strings;
}

}  // namespace garuda::device
