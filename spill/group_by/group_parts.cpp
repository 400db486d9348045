#include "spill/group_by/group_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "core/type_rows.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/resolve/exact_state.hpp"
#include "spill/group_by/large_group.hpp"
#include "spill/memory_share.hpp"
#include "spill/row_partitioner.hpp"

namespace garuda::spill {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

/// Parts of the limit: a block of rows with what grouping it takes; groups that are merged, with what that takes;
/// merged groups that are kept.
constexpr std::uint64_t kBlockShare = 2;
constexpr std::uint64_t kMergedShare = 2;
constexpr std::uint64_t kKeptShare = 4;

}  // namespace

GroupParts::GroupParts(Engine& engine, FileGroupBy const& request, PartRuns& runs, TableInput input)
    : engine_(engine),
      request_(request),
      runs_(runs),
      folder_(request.temp_folder),
      share_{request.options.memory_limit_bytes - input.ahead_bytes(), 0},
      input_(std::move(input)) {}

Result<std::unique_ptr<GroupParts>> GroupParts::open(Engine& engine, FileGroupBy const& request, PartRuns& runs) {
  GARUDA_EXPECTS(request.options.memory_limit_bytes > 0);
  bool const is_ordered = request.spec.ordered && !request.spec.keys.empty();
  auto const limit = request.options.memory_limit_bytes;
  GARUDA_TRY_ASSIGN(auto input, TableInput::open(request.table, batch_rows_for(limit), is_ordered ? "row number" : "",
                                                 ahead_bytes_for(limit)));
  std::unique_ptr<GroupParts> parts(new GroupParts(engine, request, runs, std::move(input)));
  GARUDA_TRY(parts->find_spec());
  return parts;
}

/// The spec of blocks and partitions, and what becomes of it there.
Result<void> GroupParts::find_spec() {
  spec_ = request_.spec;
  if (auto const& row = input_.row_column(); !row.empty()) {
    auto name = row;
    auto const is_taken = [&](Aggregate const& other) {
      return other.name.value_or(resolve::default_name(other)) == name;
    };
    while (std::ranges::any_of(request_.spec.aggregates, is_taken)) name += '_';
    spec_.aggregates.push_back({AggregateFunction::min, row, std::move(name)});
  }
  GARUDA_TRY_ASSIGN(auto const table, input_.no_rows());
  for (auto const& key : spec_.keys) {
    GARUDA_TRY_ASSIGN(auto const position, find_column(table.schema(), key));
    keys_.push_back(static_cast<int>(position));
    key_types_.push_back(value_type(table.schema()[position].type));
  }
  auto const most_rows = input_.known_rows().value_or(std::numeric_limits<std::uint64_t>::max());
  GARUDA_TRY_ASSIGN(partial_, PartialGroups::create(input_.schema(), spec_, most_rows));
  GARUDA_TRY_ASSIGN(share_.row_bytes, group_row_bytes(table.view(), spec_));
  if (auto const& kept = partial_->unmergeable(); !kept.empty()) unmergeable_ = *partial_->aggregate(kept.front()).name;
  // Tables that are whole on a device have values, not states.
  if (is_on_device()) unmergeable_ = "placement=device";
  return {};
}

Result<void> GroupParts::read() {
  run::PhaseTimer const timer(runs_.recorder(), "read");
  GARUDA_TRY_ASSIGN(whole_, input_.read_whole(share_, share_.limit_bytes));
  if (whole_) return {};
  GARUDA_TRY(input_.hold(share_, share_.limit_bytes));
  whole_ = input_.is_whole() && share_.fits(share_.weight(input_.held()));
  if (whole_ || !is_on_device() || !keys_.empty()) return {};
  return tl::unexpected(one_group_too_large(unmergeable_, input_.held().bytes));
}

Error GroupParts::one_group_too_large(std::string const& aggregate, std::uint64_t bytes) const {
  return {ErrorCode::limit_exceeded,
          fmt::format("'{}' keeps all values of a group, and the rows of one do not fit the memory limit, {} bytes of "
                      "them: {}",
                      aggregate, bytes, share_.limit_bytes)};
}

Result<std::optional<GroupPart>> GroupParts::next() {
  last_.reset();
  if (whole_) {
    if (std::exchange(started_, true)) return std::nullopt;
    return take_whole();
  }
  if (!std::exchange(started_, true)) {
    GARUDA_TRY_ASSIGN(auto part, start());
    if (part) return part;
  }
  while (!waiting_.empty()) {
    if (request_.options.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
    auto partition = std::move(waiting_.back());
    waiting_.pop_back();
    GARUDA_TRY_ASSIGN(auto part, group(std::move(partition)));
    if (part) return part;
  }
  return std::nullopt;
}

Result<GroupPart> GroupParts::take_whole() {
  GroupPart part;
  part.data_bytes = input_.held().bytes;
  GARUDA_TRY_ASSIGN(part.table, input_.whole_table());
  return part;
}

/// Groups the file's rows as they come; where their groups do not fit, partitions take over. nullopt: they did.
Result<std::optional<GroupPart>> GroupParts::start() {
  io::ArrowBatches groups;
  if (unmergeable_.empty()) {
    Source source;
    source.next = [this] { return input_.next_rows(); };
    source.may_split = !keys_.empty();
    GARUDA_TRY_ASSIGN(auto const is_reduced, reduce(source, groups));
    merges_ = is_reduced;
    if (is_reduced) return finished(groups);
    input_.put_back({source.ahead.begin(), source.ahead.end()});
  }
  auto const weight = share_.weight(input_.estimated_volume());
  auto const bits = keys_.empty() ? 0 : share_.bits_for(weight, kMostBits);
  GARUDA_TRY(input_.start_handing_over());
  for (std::size_t k = 0; k < keys_.size(); ++k) input_.dictionaries().hash_values(keys_[k], key_types_[k]);
  GARUDA_TRY_ASSIGN(auto rows, split([this] { return input_.hand_over(); }, 0, bits, input_.estimated_volume()));
  GARUDA_TRY_ASSIGN(auto const dictionaries, input_.finish());
  GARUDA_TRY(share_.keep_dictionaries("the table", dictionaries));
  GARUDA_TRY(push(std::move(rows), std::move(groups), 0, bits, weight));
  return std::nullopt;
}

/// Groups a partition, or splits it: nullopt.
Result<std::optional<GroupPart>> GroupParts::group(Partition partition) {
  auto const volume = partition.rows.volume();
  auto const weight = share_.weight(volume);
  if (!partition.groups && !partition.is_refused && share_.fits(weight)) return load(std::move(partition));
  bool const may_split = !keys_.empty() && partition.level + 1 < kMostLevels &&
                         (partition.level == 0 || weight <= partition.weight_above / 4 * 3);
  auto bits = share_.bits_for(weight, kMostBits);
  Source source;
  GARUDA_TRY_ASSIGN(source.next, partition.rows.read());
  source.is_spilled = true;
  source.may_split = !keys_.empty() && partition.level + 1 < kMostLevels;
  io::ArrowBatches groups;
  if (unmergeable_.empty()) {
    if (partition.groups) {
      GARUDA_TRY_ASSIGN(groups, partition.groups->read_all());
      for (auto& batch : groups) {
        GARUDA_TRY_ASSIGN(batch, partition.dictionaries->attach(std::move(batch)));
      }
    }
    GARUDA_TRY_ASSIGN(auto const is_reduced, reduce(source, groups));
    if (is_reduced) return finished(groups);
  } else if (!may_split) {
    auto alone = group_alone(partition);
    bool const is_shortage = !alone && contract::is_shortage(alone.error());
    bool const is_several = alone && !*alone;
    if (!is_shortage && !is_several) return alone;
    if (is_shortage || !source.may_split) {
      // The engine may need less than is reckoned.
      if (!partition.is_refused && volume.bytes < share_.limit_bytes / 2) return load(std::move(partition));
      if (is_shortage) return alone;
      return tl::unexpected(one_group_too_large(unmergeable_, volume.bytes));
    }
    // A single group may keep it large.
    bits = kMostBits;
  }
  auto const next = [&source]() -> Result<BatchPtr> {
    if (source.ahead.empty()) return source.next();
    auto batch = std::move(source.ahead.front());
    source.ahead.pop_front();
    return batch;
  };
  GARUDA_TRY_ASSIGN(auto rows, split(next, partition.level + 1, bits, volume));
  GARUDA_TRY(push(std::move(rows), std::move(groups), partition.level + 1, bits, weight));
  return std::nullopt;
}

/// Groups rows that are all of one group; nullopt: they are not.
Result<std::optional<GroupPart>> GroupParts::group_alone(Partition const& partition) {
  if (is_on_device()) return std::nullopt;
  Source source;
  GARUDA_TRY_ASSIGN(source.next, partition.rows.read());
  source.is_spilled = true;
  io::ArrowBatches groups;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const block, next_block(source));
    if (block.empty()) break;
    GARUDA_TRY_ASSIGN(auto more, group_block(block, true));
    groups.insert(groups.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    if (groups.size() == 1 && groups.front()->num_rows() == 1) continue;
    if (more.size() != 1 || groups.back()->num_rows() != 1) return std::nullopt;
    GARUDA_TRY(merge(groups, false));
    if (merged_groups_ != 1) return std::nullopt;
  }
  GARUDA_TRY_ASSIGN(auto const values, kept_values(partition));
  runs_.recorder().add_counter("large_groups", 1);
  GroupPart part;
  part.is_grouped = true;
  GARUDA_TRY_ASSIGN(part.table, partial_->finish(groups, values));
  return part;
}

/// The aggregates that keep all values, of the one group that all rows are of.
Result<std::vector<std::shared_ptr<arrow::Array>>> GroupParts::kept_values(Partition const& partition) {
  auto const volume = partition.rows.volume();
  LargeGroup group(engine_, share_, options_beside(share_.limit_bytes / kBlockShare), folder_, runs_);
  std::vector<std::shared_ptr<arrow::Array>> values;
  for (auto const position : partial_->unmergeable()) {
    auto const aggregate = partial_->aggregate(position);
    auto const column = input_.schema()->GetFieldIndex(*aggregate.column);
    Source source;
    GARUDA_TRY_ASSIGN(source.next, partition.rows.read());
    auto const next = [&]() -> Result<io::ArrowBatches> {
      GARUDA_TRY_ASSIGN(auto block, next_block(source));
      for (auto& batch : block) {
        GARUDA_TRY_ASSIGN(batch, input_.dictionaries().attach(std::move(batch)));
        GARUDA_ARROW_TRY_ASSIGN(batch, batch->SelectColumns({column}), ErrorCode::invalid_input,
                                "cannot select the column of an aggregate");
      }
      return block;
    };
    auto value = group.value_of(aggregate, next, volume);
    if (!value && contract::is_shortage(value.error()))
      return tl::unexpected(one_group_too_large(*aggregate.name, volume.bytes));
    if (!value) return propagate(std::move(value));
    values.push_back(*std::move(value));
  }
  return values;
}

Result<GroupPart> GroupParts::load(Partition partition) {
  auto const volume = partition.rows.volume();
  run::PhaseTimer const timer(runs_.recorder(), "restore", volume.bytes, volume.rows);
  GroupPart part;
  part.data_bytes = volume.bytes;
  GARUDA_TRY_ASSIGN(auto batches, partition.rows.read_all());
  GARUDA_TRY_ASSIGN(part.table, input_.to_table(std::move(batches)));
  last_ = std::move(partition);
  return part;
}

void GroupParts::refuse_last() {
  if (std::exchange(whole_, false)) {
    if (input_.is_stored()) input_.forget_whole();
    started_ = false;
    return;
  }
  last_->is_refused = true;
  waiting_.push_back(*std::exchange(last_, std::nullopt));
}

/// Batches that together weigh a part of the limit at most; one at least, unless there is none.
Result<io::ArrowBatches> GroupParts::next_block(Source& source) const {
  run::PhaseTimer const timer(runs_.recorder(), source.is_spilled ? "restore" : "read");
  io::ArrowBatches block;
  RowVolume volume;
  while (true) {
    if (source.ahead.empty()) {
      GARUDA_TRY_ASSIGN(auto batch, source.next());
      if (batch == nullptr) return block;
      source.ahead.push_back(std::move(batch));
    }
    GARUDA_TRY_ASSIGN(auto const more, volume_of(*source.ahead.front()));
    volume += more;
    if (!block.empty() && share_.weight(volume) > share_.limit_bytes / kBlockShare) return block;
    block.push_back(std::move(source.ahead.front()));
    source.ahead.pop_front();
  }
}

Result<Table> GroupParts::rows_of(io::ArrowBatches batches, bool is_spilled) const {
  for (auto& batch : batches) {
    if (!is_spilled) break;
    GARUDA_TRY_ASSIGN(batch, input_.dictionaries().attach(std::move(batch)));
  }
  return partial_->table_of(std::move(batches));
}

GroupByOptions GroupParts::options_beside(std::uint64_t bytes) const {
  auto options = request_.options;
  runs_.settle(options, share_.limit_bytes, bytes);
  return options;
}

/// The groups of a block with their states. Rows that turn out to need more memory are halved.
Result<io::ArrowBatches> GroupParts::group_block(io::ArrowBatches const& rows, bool is_spilled) {
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(rows));
  auto const grouped = [&]() -> Result<io::ArrowBatches> {
    GARUDA_TRY_ASSIGN(auto const table, rows_of(rows, is_spilled));
    auto const options = options_beside(std::min(volume.bytes, share_.limit_bytes / kBlockShare));
    return partial_->group(engine_, table, options, runs_);
  };
  auto groups = grouped();
  if (groups || !contract::is_shortage(groups.error()) || volume.rows < 2) {
    blocks_ += groups ? 1 : 0;
    return groups;
  }
  io::ArrowBatches halves[2];
  auto first = static_cast<std::int64_t>(volume.rows / 2);
  for (auto const& batch : rows) {
    auto const taken = std::min(first, batch->num_rows());
    if (taken > 0) halves[0].push_back(batch->Slice(0, taken));
    if (taken < batch->num_rows()) halves[1].push_back(batch->Slice(taken));
    first -= taken;
  }
  GARUDA_TRY_ASSIGN(groups, group_block(halves[0], is_spilled));
  GARUDA_TRY_ASSIGN(auto const others, group_block(halves[1], is_spilled));
  groups->insert(groups->end(), others.begin(), others.end());
  return groups;
}

/// Adds the groups of all rows of `source` to `groups`, merged. False: there are too many to keep, and `source` has the
/// rows that are still to be grouped.
Result<bool> GroupParts::reduce(Source& source, io::ArrowBatches& groups) {
  bool is_first = groups.empty();
  bool is_merged = groups.size() <= 1;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const block, next_block(source));
    if (block.empty()) break;
    GARUDA_TRY_ASSIGN(auto more, group_block(block, source.is_spilled));
    GARUDA_TRY_ASSIGN(auto const weight, partial_->merge_weight(more));
    if (source.may_split && is_first && weight > share_.limit_bytes / kKeptShare) {
      source.ahead.insert(source.ahead.begin(), block.begin(), block.end());
      return false;
    }
    is_merged = std::exchange(is_first, false) && more.size() <= 1;
    groups.insert(groups.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    GARUDA_TRY_ASSIGN(auto const before, partial_->merge_weight(groups));
    if (before <= share_.limit_bytes / kMergedShare) continue;
    GARUDA_TRY_ASSIGN(is_merged, merge(groups, source.may_split));
    GARUDA_TRY_ASSIGN(auto const kept, partial_->merge_weight(groups));
    if (source.may_split && (!is_merged || kept > share_.limit_bytes / kKeptShare)) return false;
  }
  if (is_merged) return true;
  return merge(groups, source.may_split);
}

/// Merges groups. False, if `may_refuse`: they need more memory than there is, and are left as they are.
Result<bool> GroupParts::merge(io::ArrowBatches& groups, bool may_refuse) {
  if (groups.empty()) return true;
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(groups));
  run::PhaseTimer const timer(runs_.recorder(), "merge states", volume.bytes, volume.rows);
  auto const options = options_beside(std::min(2 * volume.bytes, share_.limit_bytes / 4 * 3));
  auto merged = partial_->merge(engine_, groups, options, [this](RunStats const& stats) { runs_.ended(stats); });
  if (!merged && may_refuse && contract::is_shortage(merged.error())) return false;
  if (!merged)
    return tl::unexpected(std::move(merged).error().wrap(
        fmt::format("groups whose keys cannot be told apart by their hash do not fit: {}", volume.rows)));
  groups = *std::move(merged);
  runs_.recorder().add_counter("state_merges", 1);
  GARUDA_TRY_ASSIGN(auto const kept, volume_of_all(groups));
  merged_groups_ = kept.rows;
  return true;
}

Result<GroupPart> GroupParts::finished(io::ArrowBatches const& groups) const {
  GroupPart part;
  part.is_grouped = true;
  GARUDA_TRY_ASSIGN(part.table, partial_->finish(groups));
  return part;
}

Result<std::vector<SpillFile>> GroupParts::split(NextBatch const& next, std::uint32_t level, std::uint32_t bits,
                                                 RowVolume const& volume) {
  return RowSplitter{share_, folder_, request_.options, runs_.recorder()}.split(
      next, {input_.dictionaries(), keys_, key_types_, false, bits, level}, volume);
}

/// Splits groups as their keys' rows were.
Result<void> GroupParts::split_groups(io::ArrowBatches groups, std::uint32_t level, std::uint32_t bits,
                                      std::vector<Partition>& partitions) {
  GARUDA_TRY_ASSIGN(auto columns, DictionaryColumns::create(groups.front()->schema(), folder_.sentence()));
  auto const dictionaries = std::make_shared<DictionaryColumns>(std::move(columns));
  std::vector<int> positions(keys_.size());
  std::iota(positions.begin(), positions.end(), 0);
  for (auto const key : positions) dictionaries->hash_values(key, key_types_[static_cast<std::size_t>(key)]);
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(groups));
  for (auto& batch : groups) {
    GARUDA_TRY_ASSIGN(batch, dictionaries->detach(std::move(batch)));
  }
  std::size_t at = 0;
  auto const next = [&]() -> Result<BatchPtr> {
    if (at == groups.size()) return nullptr;
    return std::move(groups[at++]);
  };
  RowSplitter const splitter{share_, folder_, request_.options, runs_.recorder()};
  GARUDA_TRY_ASSIGN(auto files,
                    splitter.split(next, {*dictionaries, positions, key_types_, false, bits, level}, volume));
  GARUDA_TRY(dictionaries->finish());
  for (std::size_t p = 0; p < files.size(); ++p) {
    if (files[p].volume().rows == 0) continue;
    partitions[p].groups = std::move(files[p]);
    partitions[p].dictionaries = dictionaries;
  }
  return {};
}

/// The partition that is to come first is pushed last.
Result<void> GroupParts::push(std::vector<SpillFile> rows, io::ArrowBatches groups, std::uint32_t level,
                              std::uint32_t bits, std::uint64_t weight_above) {
  runs_.recorder().add_counter("spilled_partitions", rows.size());
  std::vector<Partition> partitions;
  for (auto& file : rows) partitions.push_back({std::move(file), std::nullopt, nullptr, level, weight_above});
  if (!groups.empty()) GARUDA_TRY(split_groups(std::move(groups), level, bits, partitions));
  for (auto p = partitions.size(); p > 0; --p)
    if (partitions[p - 1].rows.volume().rows > 0 || partitions[p - 1].groups)
      waiting_.push_back(std::move(partitions[p - 1]));
  return {};
}

Result<Plan> GroupParts::explain_block() {
  Source source;
  source.next = [this] { return input_.next_rows(); };
  GARUDA_TRY_ASSIGN(auto const block, next_block(source));
  GARUDA_TRY_ASSIGN(auto const table, rows_of(block, false));
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(block));
  auto const options = options_beside(volume.bytes);
  if (!unmergeable_.empty()) return engine_.explain_group_by(table.view(), spec_, options);
  GARUDA_TRY_ASSIGN(auto const groups, group_block(block, false));
  GARUDA_TRY_ASSIGN(auto const found, volume_of_all(groups));
  GARUDA_TRY_ASSIGN(auto const weight, partial_->merge_weight(groups));
  merged_groups_ = found.rows;
  merges_ = keys_.empty() || weight <= share_.limit_bytes / kKeptShare;
  return engine_.explain_group_by(table.view(), merges_ ? partial_->spec() : spec_, options);
}

}  // namespace garuda::spill
