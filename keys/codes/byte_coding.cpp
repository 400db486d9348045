#include "keys/codes/byte_coding.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <string_view>

#include "core/look_ahead.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/codes/byte_kernels.hpp"
#include "keys/codes/padded_bytes.hpp"

namespace garuda::keys {
namespace {

/// Bytes that are compared at once.
constexpr std::size_t kStepBytes = kPaddedBytes;

/// Which of the bytes [16 × step, 16 × step + 16) of a value of `size` bytes are not there: 255 there, else 0.
inline PaddedBytes absent_bytes(std::size_t size, std::size_t step) noexcept {
  static constexpr auto kAbsent = [] {
    std::array<std::uint8_t, 2 * kMostCodedBytes> bytes{};
    std::fill(bytes.begin() + kMostCodedBytes, bytes.end(), std::uint8_t{0xFF});
    return bytes;
  }();
  PaddedBytes absent;
  std::memcpy(&absent, kAbsent.data() + kMostCodedBytes - std::min(size, kMostCodedBytes) + step * kStepBytes,
              kStepBytes);
  return absent;
}

using ByteComparison = std::int8_t __attribute__((vector_size(kStepBytes)));

/// Not zero where one of 16 bytes is none that values of the shape have. `bytes`: padded_bytes of a value of `size`
/// bytes.
inline ByteComparison difference(ByteShape const& shape, PaddedBytes bytes, std::size_t size,
                                 std::size_t step) noexcept {
  PaddedBytes least;
  PaddedBytes greatest;
  std::memcpy(&least, shape.least.data() + step * kStepBytes, kStepBytes);
  std::memcpy(&greatest, shape.greatest.data() + step * kStepBytes, kStepBytes);
  return ((bytes | absent_bytes(size, step)) < least) | (bytes > greatest);
}

/// The shape of values of at most 16 × kSteps bytes.
template <std::size_t kSteps>
class ShapeScan {
 public:
  /// `end`: of the column's bytes.
  void add(std::string_view value, char const* end) noexcept {
    shortest_ = std::min(shortest_, value.size());
    longest_ = std::max(longest_, value.size());
    for (std::size_t s = 0; s < kSteps; ++s) add_step(padded_bytes(value, s, end), value.size(), s);
  }

  /// Adds a value that stands in its view.
  void add(ValueView const& view) noexcept {
    auto const size = static_cast<std::size_t>(view.length);
    shortest_ = std::min(shortest_, size);
    longest_ = std::max(longest_, size);
    add_step(padded_bytes(view), size, 0);
  }

  /// Adds `count` values of `size` bytes each, one behind the other. Requires: size <= kBytes.
  void add(std::uint8_t const* values, std::size_t size, std::size_t count) noexcept {
    shortest_ = std::min(shortest_, size);
    longest_ = std::max(longest_, size);
    // Loads reach into the values behind, of which `shape` knows nothing.
    auto const loaded = count * size < kBytes ? 0 : size == 0 ? count : (count * size - kBytes) / size + 1;
    for_ranges_ahead(values, std::max<std::size_t>(size, 1), loaded, [&](std::size_t begin, std::size_t end) {
      for (auto i = begin; i < end; ++i)
        for (std::size_t s = 0; s < kSteps; ++s) {
          PaddedBytes here;
          std::memcpy(&here, values + i * size + s * kStepBytes, kStepBytes);
          least_[s] = here < least_[s] ? here : least_[s];
          greatest_[s] = here > greatest_[s] ? here : greatest_[s];
        }
    });
    for (auto i = loaded; i < count; ++i) add({reinterpret_cast<char const*>(values + i * size), size}, nullptr);
  }

  std::size_t longest() const noexcept { return longest_; }
  ByteShape shape() const noexcept {
    ByteShape shape;
    shape.shortest = shortest_;
    shape.longest = longest_;
    std::memcpy(shape.least.data(), least_, std::min(kBytes, longest_));
    std::memcpy(shape.greatest.data(), greatest_, std::min(kBytes, longest_));
    return shape;
  }

  ShapeScan() { std::memset(least_, 0xFF, sizeof(least_)); }

 private:
  /// Adds the bytes from 16 × step on of a value of `size` bytes, zeros behind it.
  void add_step(PaddedBytes bytes, std::size_t size, std::size_t step) noexcept {
    auto const low = bytes | absent_bytes(size, step);
    least_[step] = low < least_[step] ? low : least_[step];
    greatest_[step] = bytes > greatest_[step] ? bytes : greatest_[step];
  }

  static constexpr std::size_t kBytes = kSteps * kStepBytes;
  std::size_t shortest_ = kMostCodedBytes;
  std::size_t longest_ = 0;
  PaddedBytes least_[kSteps];
  PaddedBytes greatest_[kSteps] = {};
};

/// Where the values of rows [begin, begin + length) begin that are all of one length and follow each other, none of
/// them null.
struct EvenValues {
  std::uint8_t const* first = nullptr;
  std::size_t bytes = 0;  ///< of a value
};

template <class Offset>
std::optional<EvenValues> even_values_of(ArrayView const& array, std::int64_t begin, std::size_t length) {
  constexpr std::size_t kStep = 1'024;
  auto const* const offsets = static_cast<Offset const*>(array.offsets) + array.offset + begin;
  auto const bytes = static_cast<Offset>(offsets[1] - offsets[0]);
  for (std::size_t first = 0; first < length; first += kStep) {
    auto const end = std::min(first + kStep, length);
    Offset differs = 0;
    for_ranges_ahead(offsets + first, sizeof(Offset), end - first, [&](std::size_t from, std::size_t to) {
      for (auto i = first + from; i < first + to; ++i)
        differs |= static_cast<Offset>(offsets[i + 1] - offsets[i]) ^ bytes;
    });
    if (differs != 0) return std::nullopt;
  }
  return EvenValues{static_cast<std::uint8_t const*>(array.values) + offsets[0], static_cast<std::size_t>(bytes)};
}

std::optional<EvenValues> even_values(ArrayView const& array, DataType const& type, std::int64_t begin,
                                      std::int64_t length) {
  if (array.validity != nullptr || length == 0 || !is_variable_width(type)) return std::nullopt;
  return has_large_offsets(type) ? even_values_of<std::int64_t>(array, begin, static_cast<std::size_t>(length))
                                 : even_values_of<std::int32_t>(array, begin, static_cast<std::size_t>(length));
}

template <std::size_t kSteps>
ShapeScan<kSteps> scan_block(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length) {
  ShapeScan<kSteps> scan;
  if (is_view(type) && array.validity == nullptr) {
    auto const* const views = static_cast<ValueView const*>(array.values) + array.offset + begin;
    for (std::int64_t i = 0; i < length; ++i)
      if (views[i].length <= kInlineViewBytes)
        scan.add(views[i]);
      else
        scan.add(variable_value<ValueLayout::views>(array, array.offset + begin + i), nullptr);
    return scan;
  }
  for_each_bytes(array, type, begin, length,
                 [&, end = end_of_bytes(array, type)](std::int64_t, std::string_view value) { scan.add(value, end); });
  return scan;
}

/// nullopt: some value is too long.
std::optional<ByteShape> shape_of(ArrayView const& array, DataType const& type, std::int64_t begin,
                                  std::int64_t length) {
  if (auto const even = even_values(array, type, begin, length)) {
    if (even->bytes > kMostCodedBytes) return std::nullopt;
    auto const shape_of_even = [&]<std::size_t kSteps>() {
      ShapeScan<kSteps> scan;
      scan.add(even->first, even->bytes, static_cast<std::size_t>(length));
      return scan.shape();
    };
    return even->bytes <= kStepBytes ? shape_of_even.template operator()<1>() : shape_of_even.template operator()<2>();
  }
  auto const scan = scan_block<1>(array, type, begin, length);
  if (scan.longest() > kMostCodedBytes) return std::nullopt;
  return scan.longest() <= kStepBytes ? scan.shape() : scan_block<2>(array, type, begin, length).shape();
}

/// Most entries of a table, unless one digit takes more: what half a first-level cache holds.
constexpr std::size_t kMostEntries = 512;

/// Bytes of the values that some digits' figures stand for, zero at other positions.
struct Entry {
  std::array<std::uint8_t, kMostCodedBytes> bytes{};
  std::size_t length = kMostCodedBytes;  ///< at which the value ends, at the latest
};

}  // namespace

void ByteShape::add(ByteShape const& other) noexcept {
  shortest = std::min(shortest, other.shortest);
  longest = std::max(longest, other.longest);
  for (std::size_t p = 0; p < kMostCodedBytes; ++p) {
    least[p] = std::min(least[p], other.least[p]);
    greatest[p] = std::max(greatest[p], other.greatest[p]);
  }
}

std::optional<ByteCoding> ByteCoding::of(ByteShape const& shape) {
  ByteCoding coding;
  coding.shape_ = shape;
  if (shape.longest < shape.shortest) {
    coding.shape_.shortest = shape.longest;
    return coding;
  }
  UInt128 product = 1;
  std::array<std::uint32_t, kMostCodedBytes> radices{};
  for (auto p = shape.longest; p-- > 0;) {
    bool const may_end = p >= shape.shortest;
    auto const radix = radices[p] = shape.greatest[p] - shape.least[p] + 1U + (may_end ? 1 : 0);
    if (radix == 1) continue;
    coding.digits_.push_back({static_cast<std::uint64_t>(product), static_cast<std::uint32_t>(p), shape.least[p],
                              may_end, ExactDivisor(radix)});
    product *= radix;
    if (product > UInt128{1} << 64) return std::nullopt;
  }
  coding.last_code_ = static_cast<std::uint64_t>(product - 1);
  std::ranges::reverse(coding.digits_);
  for (auto size = shape.shortest; size <= shape.longest; ++size)
    for (auto const& digit : coding.digits_)
      if (digit.position < size)
        coding.of_length_[size] += digit.weight * ((digit.may_end ? 1 : 0) - std::uint64_t{digit.least});
  coding.sums_ = coding.sums_of(std::span(radices).first(shape.longest));
  return coding;
}

std::optional<ByteSums> ByteCoding::sums_of(std::span<std::uint32_t const> radices) const {
  if (radices.size() > kSummedBytes) return std::nullopt;
  auto sums = byte_weights(radices);
  if (!sums) return std::nullopt;
  std::copy_n(shape_.least.begin(), kSummedBytes, sums->least.begin());
  std::copy_n(shape_.greatest.begin(), kSummedBytes, sums->greatest.begin());
  std::copy_n(of_length_.begin(), sums->of_length.size(), sums->of_length.begin());
  sums->shortest = shape_.shortest;
  sums->longest = shape_.longest;
  sums->of_others = last_code_ + 1;
  return sums;
}

std::uint64_t ByteCoding::sum(std::uint8_t const* bytes) const noexcept {
  std::uint64_t sum = 0;
  for (auto const& digit : digits_) sum += digit.weight * bytes[digit.position];
  return sum;
}

template <bool kOthers>
void ByteCoding::read_any(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                          std::uint64_t* codes) const {
  if (read_by_kernel(array, type, begin, length, codes)) return;
  if (longest() <= kStepBytes) return read_padded<1, kOthers>(array, type, begin, length, codes);
  read_padded<2, kOthers>(array, type, begin, length, codes);
}

/// Reads values by so few digits that compilers keep them in registers.
template <std::size_t kDigits>
void ByteCoding::read_equal_lengths(ArrayView const& array, DataType const& type, std::int64_t begin,
                                    std::int64_t length, std::uint64_t* codes) const {
  std::array<std::uint32_t, kDigits> positions;
  std::array<std::uint64_t, kDigits> weights;
  std::ranges::transform(digits_, positions.begin(), &Digit::position);
  std::ranges::transform(digits_, weights.begin(), &Digit::weight);
  auto const lacking = of_length_[longest()];
  auto const code_of = [=](auto const* value) {
    auto sum = lacking;
    for (std::size_t d = 0; d < kDigits; ++d) sum += weights[d] * static_cast<std::uint8_t>(value[positions[d]]);
    return sum;
  };
  if (array.validity == nullptr && is_variable_width(type) && length > 0) {
    // All values have this length: where they are says the first one.
    auto const at = array.offset + begin;
    auto const offset = has_large_offsets(type) ? static_cast<std::int64_t const*>(array.offsets)[at]
                                                : static_cast<std::int32_t const*>(array.offsets)[at];
    auto const* const values = static_cast<std::uint8_t const*>(array.values) + offset;
    auto const bytes = longest();
    return for_ranges_ahead(values, bytes, static_cast<std::size_t>(length), [=](std::size_t from, std::size_t to) {
      for (auto i = from; i < to; ++i) codes[i] = code_of(values + i * bytes);
    });
  }
  for_each_bytes(array, type, begin, length,
                 [=](std::int64_t i, std::string_view value) { codes[i] = code_of(value.data()); });
}

void ByteCoding::read(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                      std::uint64_t* codes) const {
  if (has_one_length()) {
    switch (digits_.size()) {
      case 0:
        std::fill_n(codes, length, std::uint64_t{0});
        return;
      case 1:
        return read_equal_lengths<1>(array, type, begin, length, codes);
      case 2:
        return read_equal_lengths<2>(array, type, begin, length, codes);
      case 3:
        return read_equal_lengths<3>(array, type, begin, length, codes);
      case 4:
        return read_equal_lengths<4>(array, type, begin, length, codes);
      case 5:
        return read_equal_lengths<5>(array, type, begin, length, codes);
      case 6:
        return read_equal_lengths<6>(array, type, begin, length, codes);
      default:
        if (read_by_kernel(array, type, begin, length, codes)) return;
        return for_each_bytes(array, type, begin, length, [&](std::int64_t i, std::string_view value) {
          codes[i] = of_length_[longest()] + sum(reinterpret_cast<std::uint8_t const*>(value.data()));
        });
    }
  }
  read_any<false>(array, type, begin, length, codes);
}

void ByteCoding::read_others(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                             std::uint64_t* codes) const {
  read_any<true>(array, type, begin, length, codes);
}

bool ByteCoding::read_by_kernel(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                                std::uint64_t* codes) const {
  if (!sums_ || array.validity != nullptr || length == 0) return false;
  auto const& kernels = byte_kernels();
  if (is_view(type)) {
    if (kernels.of_views == nullptr) return false;
    auto const* const views = static_cast<ValueView const*>(array.values) + array.offset + begin;
    auto const* const list = static_cast<ViewBuffers const*>(array.offsets);
    kernels.of_views({views, list == nullptr ? nullptr : list->buffers, static_cast<std::size_t>(length)}, *sums_,
                     codes);
    return true;
  }
  if (!is_variable_width(type)) return false;
  auto const write = [&]<class Offset>(WriteByteCodes kernel, Offset const* offsets) {
    if (kernel == nullptr) return false;
    auto const* const values = static_cast<std::uint8_t const*>(array.values);
    kernel({offsets + array.offset + begin, values, values + offsets[array.offset + array.length],
            static_cast<std::size_t>(length)},
           *sums_, codes);
    return true;
  };
  return has_large_offsets(type) ? write(kernels.of_offsets_64, static_cast<std::int64_t const*>(array.offsets))
                                 : write(kernels.of_offsets_32, static_cast<std::int32_t const*>(array.offsets));
}

/// Reads values of at most 16 × kSteps bytes, followed by zeros. As many digits as most codes have are kept in
/// registers. `kOthers`: among values that need not be of the shape.
template <std::size_t kSteps, bool kOthers>
void ByteCoding::read_padded(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                             std::uint64_t* codes) const {
  auto const read = [&]<std::size_t kDigits>() {
    std::array<std::uint32_t, kDigits> positions;
    std::array<std::uint64_t, kDigits> weights;
    std::ranges::transform(std::span(digits_).first(kDigits), positions.begin(), &Digit::position);
    std::ranges::transform(std::span(digits_).first(kDigits), weights.begin(), &Digit::weight);
    for_each_bytes(
        array, type, begin, length, [&, end = end_of_bytes(array, type)](std::int64_t i, std::string_view value) {
          std::array<std::uint8_t, kSteps * kStepBytes> bytes;
          [[maybe_unused]] ByteComparison differs{};
          for (std::size_t s = 0; s < kSteps; ++s) {
            auto const padded = padded_bytes(value, s, end);
            std::memcpy(bytes.data() + s * kStepBytes, &padded, kStepBytes);
            if constexpr (kOthers) differs |= difference(shape_, padded, value.size(), s);
          }
          if constexpr (kOthers) {
            auto const words = std::bit_cast<std::array<std::uint64_t, 2>>(differs);
            if ((words[0] | words[1]) != 0 || value.size() - shape_.shortest > shape_.longest - shape_.shortest) {
              codes[i] = last_code_ + 1;
              return;
            }
          }
          auto code = of_length_[value.size()];
          if constexpr (kDigits == 0)
            code += sum(bytes.data());
          else
            for (std::size_t d = 0; d < kDigits; ++d) code += weights[d] * bytes[positions[d]];
          codes[i] = code;
        });
  };
  switch (digits_.size()) {
    case 4:
      return read.template operator()<4>();
    case 5:
      return read.template operator()<5>();
    case 6:
      return read.template operator()<6>();
    case 7:
      return read.template operator()<7>();
    case 8:
      return read.template operator()<8>();
    default:
      return read.template operator()<0>();
  }
}

Result<std::shared_ptr<ByteCoding const>> find_byte_coding(std::span<KeyColumn const> columns, Control const& control) {
  struct Rows {
    std::size_t column;
    std::size_t batch;
    std::int64_t begin;
    std::int64_t length;
  };
  std::vector<Rows> blocks;
  constexpr auto kStep = static_cast<std::int64_t>(kBlockRows);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t b = 0; b < columns[c].arrays.size(); ++b)
      for (std::int64_t begin = 0; begin < columns[c].arrays[b].length; begin += kStep)
        blocks.push_back({c, b, begin, std::min(kStep, columns[c].arrays[b].length - begin)});
  ByteShape total;
  std::mutex mutex;
  std::atomic<bool> fits{true};
  GARUDA_TRY(for_each_block(blocks.size(), &control, [&](std::size_t i) {
    if (!fits) return;
    auto const& rows = blocks[i];
    auto const& column = columns[rows.column];
    auto const shape = shape_of(column.arrays[rows.batch], column.type, rows.begin, rows.length);
    std::lock_guard const lock(mutex);
    if (shape) total.add(*shape);
    // What does not fit yet will not fit with more values.
    if (!shape || !ByteCoding::of(total)) fits = false;
  }));
  if (!fits) return nullptr;
  return std::make_shared<ByteCoding const>(*ByteCoding::of(total));
}

ByteWriter::ByteWriter(ByteCoding const& coding)
    : longest_(coding.longest()),
      is_narrow_(coding.longest() <= kNarrowBytes),
      has_one_length_(coding.has_one_length()) {
  ByteShape::Bytes fixed{};
  std::copy_n(coding.shape_.least.begin(), coding.longest(), fixed.begin());
  for (auto const& digit : coding.digits_) fixed[digit.position] = 0;
  std::memcpy(constant_.data(), fixed.data(), fixed.size());
  std::vector<Entry> entries(1);
  auto const end_table = [&] {
    auto& table = tables_.emplace_back(Table{ExactDivisor(entries.size()), {}, {}});
    auto const words = (is_narrow_ ? kNarrowBytes : kMostCodedBytes) / 8;
    table.bytes.resize(entries.size() * words);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      std::memcpy(&table.bytes[e * words], entries[e].bytes.data(), 8 * words);
      if (!has_one_length_) table.lengths.push_back(static_cast<std::uint8_t>(entries[e].length));
    }
    entries.assign(1, {});
  };
  for (auto digit = coding.digits_.rbegin(); digit != coding.digits_.rend(); ++digit) {
    auto const radix = digit->radix.value();
    if (entries.size() > 1 && entries.size() * radix > kMostEntries) end_table();
    std::vector<Entry> with_digit;
    for (std::uint64_t figure = 0; figure < radix; ++figure)
      for (auto entry : entries) {
        if (digit->may_end && figure == 0)
          entry.length = digit->position;
        else
          entry.bytes[digit->position] = static_cast<std::uint8_t>(digit->least + figure - (digit->may_end ? 1 : 0));
        with_digit.push_back(entry);
      }
    entries = std::move(with_digit);
  }
  if (entries.size() > 1) end_table();
}

}  // namespace garuda::keys
