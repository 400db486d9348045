#include "operators/placement/streamed_batches.hpp"

#include <algorithm>
#include <utility>

#include "core/arena_threads.hpp"
#include "core/buffer.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::placement {

/// What the batches of some rows refer to.
struct StreamedBatches::Arrays {
  std::vector<ArrayView> columns;  // by output, of all rows; gathered ones are in the batches below
  std::shared_ptr<void const> words;
  std::vector<AlignedBuffer> buffers;
  std::vector<Batch> gathered;  // kept: batches of the result refer to them
};

Result<StreamedBatches> StreamedBatches::create(resolve::JoinRequest const& request, StreamedPlan const& plan) {
  StreamedBatches batches;
  batches.output_ = plan.output;
  batches.arena_ = std::make_unique<oneapi::tbb::task_arena>(arena_threads(request.options.threads));
  for (auto const* side : {&plan.build, &plan.probe}) {
    if (!side->numbers_rows()) continue;
    auto& gatherer = side == &plan.build ? batches.build_gatherer_ : batches.probe_gatherer_;
    GARUDA_TRY_ASSIGN(gatherer, Gatherer::create(side->table, side->gathered, request.columns.strings));
  }
  for (std::size_t i = 0; i < plan.arriving.size(); ++i)
    if (!plan.arriving[i].column) (plan.arriving[i].from_probe ? batches.probe_numbers_ : batches.build_numbers_) = i;
  for (std::size_t i = 0; i < plan.output.size(); ++i) {
    auto const& [side, column] = request.columns.output[i];
    auto field = (side == Side::left ? request.left : request.right).schema()[column];
    auto const& output = plan.output[i];
    auto const& gatherer = output.from_probe ? batches.probe_gatherer_ : batches.build_gatherer_;
    if (output.gathered) field = gatherer->schema()[*output.gathered];
    field.name = request.columns.names[i];
    batches.schema_.push_back(std::move(field));
  }
  return batches;
}

/// Columns whose words came down.
Result<std::unique_ptr<StreamedBatches::Arrays>> StreamedBatches::convert(ArrivedRows& arrived) const {
  auto arrays = std::make_unique<Arrays>();
  arrays->words = arrived.owner;
  auto const words_at = [&](std::size_t i) { return reinterpret_cast<std::uint32_t const*>(arrived.words[i]); };
  for (auto const& output : output_) {
    auto& array = arrays->columns.emplace_back();
    if (output.gathered) continue;
    materialize::ColumnWords const words{words_at(output.values), output.words,
                                         output.nulls ? words_at(*output.nulls) : nullptr, output.null_bit};
    GARUDA_TRY_ASSIGN(array, materialize::array_of_words(words, arrived.rows, output.type, arrays->buffers));
  }
  if (probe_numbers_) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(arrived.words[*probe_numbers_]);
    for (std::uint64_t i = 0; i < arrived.rows; ++i) numbers[i] += static_cast<std::uint32_t>(arrived.probe_first);
  }
  return arrays;
}

/// Gathers the columns of one side from row `first` of the arrived ones on; returns how many rows there are.
Result<std::int64_t> StreamedBatches::gather(bool from_probe, ArrivedRows const& arrived, std::int64_t first,
                                             Arrays& arrays) const {
  auto const& gatherer = from_probe ? probe_gatherer_ : build_gatherer_;
  auto const rows = static_cast<std::int64_t>(arrived.rows);
  if (!gatherer) return rows - first;
  auto const* const numbers =
      reinterpret_cast<std::uint32_t const*>(arrived.words[*(from_probe ? probe_numbers_ : build_numbers_)]);
  std::span const wanted(numbers + first, static_cast<std::size_t>(rows - first));
  GARUDA_TRY_ASSIGN(auto gathered, arena_->execute([&] { return gatherer->gather(wanted); }));
  arrays.gathered.push_back(std::move(gathered.batch));
  return gathered.rows_taken;
}

Result<std::vector<Batch>> StreamedBatches::assemble(ArrivedRows arrived) const {
  std::vector<Batch> batches;
  if (arrived.rows == 0) return batches;
  GARUDA_TRY_ASSIGN(auto converted, convert(arrived));
  // Arrays of batches are exported and outlive each other in any order.
  std::shared_ptr<Arrays> const arrays = std::move(converted);
  struct Cut {
    std::int64_t first, rows;
    std::size_t build, probe;  // among the gathered batches
  };
  std::vector<Cut> cuts;
  auto const rows = static_cast<std::int64_t>(arrived.rows);
  for (std::int64_t first = 0; first < rows;) {
    auto const build = arrays->gathered.size();
    GARUDA_TRY_ASSIGN(auto const of_build, gather(false, arrived, first, *arrays));
    auto const probe = arrays->gathered.size();
    GARUDA_TRY_ASSIGN(auto const of_probe, gather(true, arrived, first, *arrays));
    cuts.push_back({first, std::min(of_build, of_probe), build, probe});
    first += cuts.back().rows;
  }
  for (auto const& cut : cuts) {
    Batch batch;
    batch.num_rows = cut.rows;
    for (std::size_t i = 0; i < output_.size(); ++i) {
      auto const& output = output_[i];
      if (!output.gathered) {
        batch.columns.push_back(slice(arrays->columns[i], cut.first, cut.rows));
        continue;
      }
      auto const& gathered = arrays->gathered[output.from_probe ? cut.probe : cut.build];
      batch.columns.push_back(slice(gathered.columns[*output.gathered], 0, cut.rows));
    }
    batch.owner = arrays;
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace garuda::placement
