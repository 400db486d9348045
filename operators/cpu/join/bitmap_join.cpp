#include "operators/cpu/join/bitmap_join.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/look_ahead.hpp"
#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"

namespace garuda::cpu {
namespace {

constexpr std::uint64_t kWordBits = 64;

/// A bit for each value from the least key to the greatest. Read-only once built.
template <class Word>
class KeyBits {
 public:
  KeyBits(Word min, Word max)
      : min_(min), span_(static_cast<Word>(max - min)), bits_(contract::bitmap_words(span_ + 1)) {}

  void set(std::span<Word const> keys) noexcept {
    // Keys of the caller's memory may have changed since their range was found.
    for_each_ahead<Word>(
        keys.data(), keys.size(),
        [keys = keys.data(), bits = bits_.data(), min = min_, span = static_cast<Word>(span_)](std::size_t i) {
          auto const slot = std::min(static_cast<Word>(keys[i] - min), span);
          bits[slot / kWordBits] |= std::uint64_t{1} << slot % kWordBits;
        });
  }
  void add_words(KeyBits const& other, std::size_t begin, std::size_t end) noexcept {
    for (auto w = begin; w < end; ++w) bits_[w] |= other.bits_[w];
  }
  /// When all bits are set: looks whether every value of the range is there, as primary keys often are.
  void find_gaps() noexcept {
    std::uint64_t set = 0;
    for (auto const word : bits_) set += static_cast<std::uint64_t>(std::popcount(word));
    has_gaps_ = set <= span_;
  }
  /// Bit i: keys[i] is there, of at most 64.
  std::uint64_t test(std::span<Word const> keys) const noexcept {
    std::uint64_t found = 0;
    if (!has_gaps_) {  // no bit has to be read
      for (std::size_t i = 0; i < keys.size(); ++i)
        found |= std::uint64_t{static_cast<Word>(keys[i] - min_) <= span_ ? 1U : 0U} << i;
      return found;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const slot = std::uint64_t{static_cast<Word>(keys[i] - min_)};
      auto const is_inside = slot <= span_;
      auto const word = bits_[is_inside ? slot / kWordBits : 0];
      found |= (word >> slot % kWordBits & (is_inside ? 1 : 0)) << i;
    }
    return found;
  }

 private:
  Word min_;
  std::uint64_t span_;
  bool has_gaps_ = true;  ///< some value of the range may be missing
  std::vector<std::uint64_t> bits_;
};

template <class Word>
class BitmapKernel final : public contract::JoinKernel {
 public:
  BitmapKernel(std::shared_ptr<KeyBits<Word> const> right, std::span<Word const> left, Control const* control,
               contract::StatsSink* stats)
      : right_(std::move(right)), left_(left), control_(control), stats_(stats) {}

  Result<std::uint64_t> count() override { throw LogicError("a bitmap has no pairs"); }
  Result<void> pairs(std::uint64_t, std::span<contract::RowPair>) override {
    throw LogicError("a bitmap has no pairs");
  }

  Result<contract::MarkBitmap> mark(Side side) override {
    GARUDA_EXPECTS(side == Side::left);
    contract::PhaseTimer const phase(stats_, "mark", left_.size_bytes(), left_.size());
    contract::MarkBitmap marks(contract::bitmap_words(left_.size()));
    auto const blocks = (left_.size() + kBlockRows - 1) / kBlockRows;
    GARUDA_TRY(for_each_block(blocks, control_, [&](std::size_t block) {
      auto const end = std::min<std::size_t>((block + 1) * kBlockRows, left_.size());
      for (auto row = block * kBlockRows; row < end; row += kWordBits) {
        look_ahead(left_.data() + row);
        marks[row / kWordBits] = right_->test(left_.subspan(row, std::min<std::size_t>(kWordBits, end - row)));
      }
    }));
    return marks;
  }

 private:
  std::shared_ptr<KeyBits<Word> const> right_;
  std::span<Word const> left_;
  Control const* control_;
  contract::StatsSink* stats_;
};

template <class Word>
class BitmapBackend final : public contract::JoinBackend {
 public:
  explicit BitmapBackend(contract::BackendOptions const& options)
      : threads_(options.lanes), control_(options.control), stats_(options.stats) {}

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::JoinSlice const& slice, std::uint32_t) override {
    GARUDA_EXPECTS(slice.build == Side::right);
    return or_out_of_memory("the bitmap of a join's keys", [&]() -> Result<std::unique_ptr<contract::JoinKernel>> {
      GARUDA_TRY_ASSIGN(auto right, bits_of(slice.right));
      return std::make_unique<BitmapKernel<Word>>(std::move(right), std::get<std::span<Word const>>(slice.left.words),
                                                  control_, stats_);
    });
  }

 private:
  using Bits = KeyBits<Word>;

  /// Lanes wait for the bitmap that they are about to need.
  Result<std::shared_ptr<Bits const>> bits_of(contract::KeySpan const& right) {
    auto const keys = std::get<std::span<Word const>>(right.words);
    std::lock_guard const lock(mutex_);
    if (bits_ && keys_.data() == keys.data() && keys_.size() == keys.size()) return bits_;
    contract::PhaseTimer const phase(stats_, "build", keys.size_bytes(), keys.size());
    // Threads that set bits of one bitmap at random would wait for each other's lines, so each has its own.
    auto const words = contract::bitmap_words(right.max - right.min + 1);
    auto const most = std::max<std::uint64_t>(keys.size_bytes() / (8 * words), 1);
    std::vector<Bits> parts(std::min<std::uint64_t>(threads_, most),
                            Bits(static_cast<Word>(right.min), static_cast<Word>(right.max)));
    oneapi::tbb::task_arena arena(static_cast<int>(parts.size()));
    auto const set_bits = [&]() -> Result<void> {
      GARUDA_TRY(for_each_block(parts.size(), control_, [&](std::size_t part) {
        auto const end = (part + 1) * keys.size() / parts.size();
        for (auto row = part * keys.size() / parts.size(); row < end && !is_cancelled(control_); row += kBlockRows)
          parts[part].set(keys.subspan(row, std::min<std::size_t>(kBlockRows, end - row)));
      }));
      return for_each_block((words + kBlockRows - 1) / kBlockRows, control_, [&](std::size_t block) {
        auto const end = std::min<std::size_t>((block + 1) * kBlockRows, words);
        for (std::size_t part = 1; part < parts.size(); ++part)
          parts[0].add_words(parts[part], block * kBlockRows, end);
      });
    };
    GARUDA_TRY(arena.execute(set_bits));
    parts[0].find_gaps();
    keys_ = keys;
    bits_ = std::make_shared<Bits const>(std::move(parts[0]));
    return bits_;
  }

  std::uint32_t threads_;
  Control const* control_;
  contract::StatsSink* stats_;
  std::mutex mutex_;
  std::span<Word const> keys_;
  std::shared_ptr<Bits const> bits_;
};

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_bitmap_join(contract::BackendOptions const& options) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  if (options.key_bits == 32) return std::make_unique<BitmapBackend<std::uint32_t>>(options);
  return std::make_unique<BitmapBackend<std::uint64_t>>(options);
}

}  // namespace garuda::cpu
