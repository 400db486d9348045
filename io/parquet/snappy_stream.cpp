#include "io/parquet/snappy_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace garuda::io {
namespace {

static_assert(std::endian::native == std::endian::little);

/// A tag's lowest two bits.
constexpr std::uint64_t kKindBits = 3;
constexpr std::uint64_t kLiteral = 0;
constexpr std::uint64_t kFarCopy = 3;
/// Longer literals have their length in 1 to 4 bytes behind the tag.
constexpr std::uint64_t kMostInTag = 60;
constexpr std::size_t kMostCopied = 64;
constexpr std::size_t kMovedBytes = 16;
/// The quick loop reads and writes up to so many bytes beyond a tag and what it stands for.
constexpr std::size_t kTagMargin = kMostCopied + 2 * kMovedBytes;

std::uint64_t load64(std::uint8_t const* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

void store64(std::uint8_t* to, std::uint64_t word) { std::memcpy(to, &word, sizeof(word)); }

void move_piece(std::uint8_t* to, std::uint8_t const* from) {
  std::array<std::uint8_t, kMovedBytes> piece;
  std::memcpy(piece.data(), from, kMovedBytes);
  std::memcpy(to, piece.data(), kMovedBytes);
}

/// Piece by piece, so that it may begin a piece behind what it copies.
void move_pieces(std::uint8_t* to, std::uint8_t const* from) {
  for (std::size_t i = 0; i < kMostCopied; i += kMovedBytes) move_piece(to + i, from + i);
}

struct Copy {
  std::uint64_t length = 0;
  std::uint64_t distance = 0;
  std::uint64_t tag_bytes = 0;
};

/// The copy whose tag is the lowest byte of `word`, near (an offset of 11 bits) or not (of 16). Without a branch: which
/// one it is cannot be predicted.
Copy copy_of(std::uint64_t word) {
  auto const has16 = ~((word >> 1 & 1) - 1);
  return {(word >> 2 & (7 | (has16 & 63))) + (4 - (has16 & 3)),
          (word >> 8 & (0xFF | (has16 & 0xFF00))) | ((word << 3 & 0x700) & ~has16), (word & kKindBits) + 1};
}

/// Where a stream is read and its bytes are written.
class Decoder {
 public:
  Decoder(std::span<std::uint8_t const> tags, std::span<std::uint8_t> out)
      : next_(tags.data()),
        end_(tags.data() + tags.size()),
        begin_(out.data()),
        out_(out.data()),
        out_end_(out.data() + out.size()) {}

  /// Tags that lie far enough from both ends for moves of whole pieces. What hangs on one another is where the tags
  /// are, so that each is found from the one before it in few steps. False: one is damaged.
  template <SnappyContent Content>
  bool read_quickly() {
    if (left() <= kTagMargin || room() <= kTagMargin) return true;
    auto const* const last = end_ - kTagMargin;
    auto const* const last_out = out_end_ - kTagMargin;
    while (next_ < last && out_ < last_out) {
      auto const word = load64(next_);
      if (Content == SnappyContent::words64 && read_word(word)) continue;
      if (!read_short(word) && !read_long(word)) return false;
    }
    return true;
  }

  /// The rest, byte by byte.
  bool read_rest() {
    while (next_ != end_) {
      std::array<std::uint8_t, sizeof(std::uint64_t)> tag{};
      std::copy_n(next_, std::min(left(), tag.size()), tag.begin());
      auto const word = load64(tag.data());
      bool const is_read = (word & kKindBits) == kLiteral ? read_literal(word) : copy_bytes(any_copy_of(word));
      if (!is_read) return false;
    }
    return out_ == out_end_;
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  std::size_t room() const { return static_cast<std::size_t>(out_end_ - out_); }
  std::size_t written() const { return static_cast<std::size_t>(out_ - begin_); }

  /// A literal of at most four bytes and a copy that complete a word by one before it. The word is loaded and stored as
  /// a whole: a load of bytes that several stores wrote would wait until they are in the cache. False: it is not that.
  bool read_word(std::uint64_t word) {
    constexpr std::uint64_t kShortLiteral = 0xF3;  // bits that are clear in its tag
    auto const length = (word >> 2 & 3) + 1;
    auto const behind = word >> 8 * (length + 1);
    bool const is_pair = ((word & kShortLiteral) == 0) & (((behind - 1) & kKindBits) < 2);
    if (!is_pair) return false;
    auto const copy = copy_of(behind);
    auto const all = length + copy.length;
    if (copy.distance < sizeof(word) || copy.distance > written() || all > sizeof(word)) return false;
    auto const ours = (std::uint64_t{1} << 8 * length) - 1;
    store64(out_, (word >> 8 & ours) | (load64(out_ - copy.distance) & ~ours));
    out_ += all;
    next_ += length + 1 + copy.tag_bytes;
    return true;
  }

  /// A literal or a copy that one move writes. False: it is not that.
  bool read_short(std::uint64_t word) {
    bool const is_literal = (word & kKindBits) == kLiteral;
    auto const copy = copy_of(word);
    auto const length = is_literal ? (word >> 2 & 63) + 1 : copy.length;
    bool const is_there = is_literal | ((copy.distance >= length) & (copy.distance <= written()));
    if (length > kMovedBytes || (word & kKindBits) == kFarCopy || !is_there) return false;
    auto const* const from = is_literal ? next_ + 1 : out_ - copy.distance;
    next_ += is_literal ? length + 1 : copy.tag_bytes;
    move_piece(out_, from);
    out_ += length;
    return true;
  }

  bool read_long(std::uint64_t word) {
    if ((word & kKindBits) == kLiteral) {
      auto const length = (word >> 2 & 63) + 1;
      if (length > kMostInTag) return read_literal(word);
      move_pieces(out_, next_ + 1);
      next_ += length + 1;
      out_ += length;
      return true;
    }
    auto const copy = any_copy_of(word);
    if (copy.distance < kMovedBytes || copy.distance > written()) return copy_bytes(copy);
    move_pieces(out_, out_ - copy.distance);
    next_ += copy.tag_bytes;
    out_ += copy.length;
    return true;
  }

  static Copy any_copy_of(std::uint64_t word) {
    if ((word & kKindBits) != kFarCopy) return copy_of(word);
    return {(word >> 2 & 63) + 1, word >> 8 & 0xFFFFFFFF, 5};
  }

  bool read_literal(std::uint64_t word) {
    auto length = word >> 2 & 63;
    std::size_t tag_bytes = 1;
    if (length >= kMostInTag) {
      auto const more = length - kMostInTag + 1;
      length = word >> 8 & ((std::uint64_t{1} << 8 * more) - 1);
      tag_bytes += more;
    }
    ++length;
    if (tag_bytes > left() || length > left() - tag_bytes || length > room()) return false;
    out_ = std::copy_n(next_ + tag_bytes, length, out_);
    next_ += tag_bytes + length;
    return true;
  }

  bool copy_bytes(Copy const& copy) {
    bool const is_there = copy.distance > 0 && copy.distance <= written();
    if (!is_there || copy.tag_bytes > left() || copy.length > room()) return false;
    for (std::uint64_t i = 0; i < copy.length; ++i, ++out_) *out_ = *(out_ - copy.distance);
    next_ += copy.tag_bytes;
    return true;
  }

  std::uint8_t const* next_;
  std::uint8_t const* end_;
  std::uint8_t* begin_;
  std::uint8_t* out_;
  std::uint8_t* out_end_;
};

}  // namespace

std::optional<SnappyStream> SnappyStream::open(std::span<std::uint8_t const> bytes) {
  constexpr unsigned kMostShift = 28;
  std::uint64_t length = 0;
  std::size_t next = 0;
  for (unsigned shift = 0; shift <= kMostShift && next < bytes.size(); shift += 7) {
    auto const byte = bytes[next++];
    length |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return SnappyStream(bytes.subspan(next), static_cast<std::size_t>(length));
  }
  return std::nullopt;
}

std::span<std::uint8_t const> SnappyStream::literal() const noexcept {
  if (tags_.empty() || (tags_.front() & kKindBits) != kLiteral) return {};
  std::size_t const in_tag = tags_.front() >> 2;
  std::size_t const tag_bytes = in_tag < kMostInTag ? 1 : in_tag - kMostInTag + 2;
  if (length_ == 0 || tags_.size() != tag_bytes + length_) return {};
  std::uint32_t last = static_cast<std::uint32_t>(in_tag);
  if (tag_bytes > 1) {
    last = 0;
    std::memcpy(&last, tags_.data() + 1, tag_bytes - 1);
  }
  return last == length_ - 1 ? tags_.subspan(tag_bytes) : std::span<std::uint8_t const>();
}

bool SnappyStream::write_to(std::span<std::uint8_t> out, SnappyContent content) const {
  Decoder decoder(tags_, out);
  bool const is_read = content == SnappyContent::words64 ? decoder.read_quickly<SnappyContent::words64>()
                                                         : decoder.read_quickly<SnappyContent::bytes>();
  return is_read && decoder.read_rest();
}

}  // namespace garuda::io
