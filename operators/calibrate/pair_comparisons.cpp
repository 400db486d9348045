#include "operators/calibrate/pair_comparisons.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/contract/stats_sink.hpp"

namespace garuda::calibrate {
namespace {

constexpr std::string_view kCountPhase = "count";

class CountTime final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t, std::uint64_t) override {
    if (name == kCountPhase) ns_ += ns;
  }
  void add_counter(std::string_view, std::uint64_t) override {}
  void max_counter(std::string_view, std::uint64_t) override {}
  void note(std::string) override {}

  std::uint64_t ns() const noexcept { return ns_; }

 private:
  std::uint64_t ns_ = 0;
};

std::vector<std::uint32_t> make_words(std::uint64_t rows, std::uint64_t seed) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t i = 0; i < rows; ++i) words.push_back(static_cast<std::uint32_t>(keys::mix(seed + i)));
  return words;
}

}  // namespace

Result<std::uint64_t> compare_pairs(vk::Device& device, vk::PipelineStore& pipelines, Control const& control,
                                    std::uint64_t rows) {
  auto const left = make_words(rows, 0);
  auto const right = make_words(rows, rows);
  using Source = expr::WordOperand::Source;
  expr::PairCondition condition;
  condition.left.push_back({std::span(left)});
  condition.right.push_back({std::span(right)});
  condition.comparisons.push_back({Comparator::less, {Source::left, 0, 0}, {Source::right, 0, 0}});
  condition.steps.emplace_back();
  CountTime time;
  contract::BackendOptions options;
  options.max_left_rows = options.max_right_rows = rows;
  options.pairs_wanted = false;
  options.control = &control;
  options.stats = &time;
  GARUDA_TRY_ASSIGN(auto const backend, compute::open_compute_condition_join(device, pipelines, options, condition));
  {
    GARUDA_TRY_ASSIGN(auto const kernel, backend->begin({{0, rows}, {0, rows}}, 0));
    GARUDA_TRY(kernel->count());
  }
  return time.ns();
}

}  // namespace garuda::calibrate
