#include "operators/group_by/planned_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "operators/contract/offers/path_row.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::group_by {
namespace {

/// The states that are wanted of a state column's values.
contract::StateRequest request_of(resolve::StateColumn const& column, ValueReader const& values,
                                  std::uint64_t num_rows) {
  bool const is_narrow = contract::value_words(column.kind) == 1 && !contract::is_float(column.kind);
  bool const sums_fit_word =
      column.form == resolve::ValueForm::packed || (is_narrow && num_rows <= std::uint64_t{1} << 32);
  return {column.kind, column.states, values.may_have_nulls(), values.order(), column.list, sums_fit_word};
}

/// The table as a path takes it whole, but for its keys' words.
contract::WholeTable outlined_table(TableView table, std::vector<resolve::StateColumn> const& states,
                                    std::vector<ValueReader> const& values,
                                    std::optional<keys::GroupKeyOutline> const& keys) {
  contract::WholeTable whole;
  whole.num_rows = static_cast<std::uint64_t>(table.num_rows());
  if (keys) {
    contract::KeySpan span{std::span<std::uint32_t const>(), keys->min, keys->max, {}};
    if (!keys->is_packed) {
      span.max = std::numeric_limits<std::uint64_t>::max();
      whole.more_words.resize(keys->num_words - 1);
    }
    if (!keys->is_packed || keys->key_bits == 64) span.words = std::span<std::uint64_t const>();
    whole.keys = std::move(span);
    whole.common_low_bits = keys->is_packed ? keys->common_low_bits : 0;
    whole.estimated_groups = std::max<std::uint64_t>(keys->estimated_groups, 1);
  }
  for (std::size_t c = 0; c < states.size(); ++c)
    whole.requests.push_back(request_of(states[c], values[c], whole.num_rows));
  return whole;
}

/// Sizes of grouping `table` whole on the path that does so; nullopt where none does.
std::optional<contract::WholeSizes> whole_sizes(contract::WholeTable const& table) {
  for (auto const* path : plan::paths())
    if (path->group_by.whole_sizes != nullptr) return path->group_by.whole_sizes(table);
  return std::nullopt;
}

/// Bytes of a row's values that do not move with their keys: products, which are made of factors that do, and columns
/// that move already.
std::uint64_t unmoved_bytes(std::vector<resolve::StateColumn> const& states, std::vector<ValueReader> const& values) {
  std::uint64_t bytes = 0;
  std::set<std::size_t> moved;
  for (std::size_t c = 0; c < states.size(); ++c) {
    bool const is_product = states[c].is_of_products() && !values[c].may_have_nulls();
    bool const is_again = states[c].is_of_table() && states[c].column && states[c].kind != contract::ValueKind::bytes &&
                          !values[c].in_place().empty() && !moved.insert(*states[c].column).second;
    if (is_product || is_again) bytes += 4 * std::uint64_t{contract::value_words(states[c].kind)};
  }
  return bytes;
}

/// The shape that is known of any group-by.
contract::GroupByShape outline_of(resolve::GroupByRequest const& request, std::uint32_t threads) {
  contract::GroupByShape shape;
  shape.rows = static_cast<std::uint64_t>(request.table.num_rows());
  shape.threads = threads;
  shape.free_host_bytes = run::free_host_bytes();
  shape.table = &request;
  shape.resident_on = device::device_of(request.table);
  return shape;
}

/// `keys`: nullopt without key columns.
contract::GroupByShape shape_of(resolve::GroupByRequest const& request,
                                std::optional<keys::GroupKeyOutline> const& keys,
                                std::vector<ValueReader> const& values, std::uint32_t threads) {
  auto shape = outline_of(request, threads);
  shape.key_bits = 0;
  if (keys) {
    if (keys->is_packed) shape.key_bits = keys->key_bits;
    shape.key_words = 2 * keys->num_words;
    shape.coded_columns = keys->given.coded;
    shape.numbered_columns = keys->given.numbered;
    shape.estimated_groups = std::max<std::uint64_t>(keys->estimated_groups, 1);
    shape.encoded_bytes = keys->bytes;
  }
  for (auto const& reader : values) shape.encoded_bytes += reader.bytes();
  for (auto const& state : request.columns.states) {
    shape.requests.push_back(request_of(state, values[shape.requests.size()], shape.rows));
    // A bit of validity is rounded up to a word.
    shape.value_words += contract::device_words(state.kind) + (state.column ? 1 : 0);
    if (state.has_lists())
      shape.encoded_bytes += shape.rows * contract::extreme_words(state.kind) * sizeof(std::uint64_t);
  }
  auto const has_rows = shape.rows > 0 || !keys;
  if (has_rows) shape.whole = whole_sizes(outlined_table(request.table, request.columns.states, values, keys));
  if (shape.whole && shape.whole->has_keys) shape.whole->row_bytes -= unmoved_bytes(request.columns.states, values);
  shape.output_row_bytes = 16 * request.columns.aggregates.size();
  for (auto const& aggregate : request.columns.aggregates)
    if (aggregate.row->finalise == nullptr && aggregate.column)
      shape.output_row_bytes += materialize::column_row_bytes(request.table, *aggregate.column);
  for (auto const key : request.columns.keys)
    shape.output_row_bytes += materialize::column_row_bytes(request.table, key);
  shape.ordered = request.spec.ordered;
  return shape;
}

/// Adds the details of the keys that `explain` shows beside the general part of a plan.
void describe_keys(resolve::GroupByRequest const& request, keys::EncodedGroupKeys const& keys, Plan& plan) {
  if (request.columns.keys.empty()) {
    plan.details.emplace_back("key form", "no keys: one group");
    return;
  }
  plan.details.emplace_back(
      "key form", keys.is_packed
                      ? fmt::format("all attributes packed into one word, {} bits of it in use", keys.packed_bits)
                      : fmt::format("words of 64 bits a row: {}; one word would take {} bits", keys.words.size(),
                                    keys.packed_bits));
  std::string bins;
  for (std::size_t a = 0; a < keys.attributes.size(); ++a)
    bins += fmt::format("{}{} {}{}", a == 0 ? "" : ", ", request.table.schema()[request.columns.keys[a]].name,
                        keys.attributes[a].nonempty_bins, keys.attributes[a].is_dictionary ? " (dictionary)" : "");
  plan.details.emplace_back("diversity", keys.sampled_rows == 0 && keys.num_rows > 0
                                             ? fmt::format("values of dictionaries: {}", bins)
                                             : fmt::format("non-empty bins of {} in {} rows: {}", keys::kAttributeBins,
                                                           keys.sampled_rows, bins));
  plan.details.emplace_back("hashing",
                            fmt::format("{}; most diverse: {}", keys.is_packed ? "the whole packed key" : "all words",
                                        request.table.schema()[request.columns.keys[keys.most_diverse]].name));
  plan.details.emplace_back("groups", fmt::format("about {}", keys.estimated_groups));
}

/// Adds the details of aggregates that kernels alone do not make.
void describe_aggregates(resolve::ResolvedGroupBy const& columns, Plan& plan) {
  auto const name_all = [&](resolve::Making making, std::string_view what) {
    std::string names;
    for (auto const& aggregate : columns.aggregates)
      if (aggregate.row->making == making) names += (names.empty() ? "" : ", ") + aggregate.name;
    if (!names.empty()) plan.details.emplace_back("aggregates", fmt::format("{}: {}", names, what));
  };
  name_all(resolve::Making::list, "on the host, of each group's values");
  std::string compared;
  for (auto const& aggregate : columns.aggregates)
    if (aggregate.row->making == resolve::Making::column && aggregate.row->finalise == nullptr)
      compared += (compared.empty() ? "" : ", ") + aggregate.name;
  if (!compared.empty())
    plan.details.emplace_back("compared", fmt::format("{}: on the host, by the order of the values", compared));
  auto const products = std::ranges::count_if(columns.states, &resolve::StateColumn::is_of_products);
  name_all(resolve::Making::moments,
           fmt::format("of exact sums; the host cuts products into {} columns of integers", products));
}

Result<partition::RadixDigit> choose_slice_digit(keys::EncodedGroupKeys const& keys, std::uint32_t radix_bits,
                                                 Control const& control) {
  auto const words = keys::partition_words(keys);
  keys::EncodedKeys no_other_side;
  no_other_side.key_bits = words.key_bits;
  GARUDA_TRY_ASSIGN(auto const choice, partition::choose_digit(words, no_other_side, radix_bits, control));
  return choice.digit;
}

/// The table's keys, sampled, and its values ready to be read.
struct SampledGroupBy {
  std::optional<keys::SampledGroupKeys> keys;  ///< nullopt without key columns
  std::vector<ValueReader> values;             ///< a state column each
};

Result<SampledGroupBy> sample_groups(resolve::GroupByRequest const& request, run::QueryRun& run) {
  SampledGroupBy sampled;
  auto const& control = request.options.control;
  if (!request.columns.keys.empty()) {
    run::PhaseTimer const timer(run.recorder, "encode");
    GARUDA_TRY_ASSIGN(sampled.keys, run.arena.execute([&] {
      return keys::sample_group_keys(request.table, request.columns.keys, control);
    }));
  }
  for (auto const& state : request.columns.states) {
    run::PhaseTimer const order_timer(run.recorder, state.kind == contract::ValueKind::bytes ? "order" : "encode");
    GARUDA_TRY_ASSIGN(auto reader,
                      run.arena.execute([&] { return ValueReader::create(request.table, state, control); }));
    sampled.values.push_back(std::move(reader));
  }
  return sampled;
}

Result<plan::GroupByPlan> plan(resolve::GroupByRequest const& request, contract::GroupByShape const& shape) {
  GARUDA_TRY_ASSIGN(auto planned,
                    plan::plan_group_by(shape, plan::machine_of(*request.devices, shape.threads), request.options));
  auto& notes = planned.plan.notes;
  notes.insert(notes.end(), request.notes.begin(), request.notes.end());
  planned.plan.inputs.push_back(plan::plan_of_table(*request.devices, shape.resident_on, request.table.num_rows()));
  return planned;
}

/// A plan without a look at the table, if there is one: of the path that was asked for, or of a table on a device.
Result<std::optional<plan::GroupByPlan>> plan_unseen(resolve::GroupByRequest const& request, std::uint32_t threads) {
  auto shape = outline_of(request, threads);
  if (request.options.picks_path() && !shape.resident_on) return std::nullopt;
  shape.is_unseen = true;
  GARUDA_TRY_ASSIGN(auto planned, plan(request, shape));
  return planned.offer.takes_whole() ? std::optional(std::move(planned)) : std::nullopt;
}

/// One that needs no more than the sample, which leaves rows out.
std::optional<plan::GroupByPlan> plan_sampled(resolve::GroupByRequest const& request, SampledGroupBy const& sampled,
                                              std::uint32_t threads) {
  if (!request.options.picks_path() || !sampled.keys || !sampled.keys->is_partial()) return std::nullopt;
  auto const outline = sampled.keys->outline(request.options.tuning.keys);
  auto planned = plan(request, shape_of(request, outline, sampled.values, threads));
  return planned && planned->offer.takes_whole() ? std::optional(std::move(*planned)) : std::nullopt;
}

}  // namespace

Result<PlannedGroupBy> plan_request(resolve::GroupByRequest const& request, run::QueryRun& run) {
  PlannedGroupBy planned;
  auto const& options = request.options;
  auto const& control = options.control;
  auto const resident_on = device::device_of(request.table);
  GARUDA_TRY(plan::check_path(options, options.tuning.placement, resident_on));
  auto const threads = run.threads();
  bool const is_open =
      resident_on || plan::may_take_tables(options, options.tuning.placement, request.devices->devices());
  std::optional<plan::GroupByPlan> early;
  if (is_open) {
    GARUDA_TRY_ASSIGN(early, plan_unseen(request, threads));
  }
  std::optional<SampledGroupBy> sampled;
  if (!early) {
    GARUDA_TRY_ASSIGN(sampled, sample_groups(request, run));
    if (is_open) early = plan_sampled(request, *sampled, threads);
  }
  if (early) {
    planned.chosen = std::move(*early);
    return planned;
  }
  planned.values = std::move(sampled->values);
  std::optional<keys::GroupKeyOutline> outline;
  if (sampled->keys) {
    run::PhaseTimer const timer(run.recorder, "encode");
    GARUDA_TRY_ASSIGN(planned.keys, run.arena.execute([&] {
      return keys::encode_group_keys(std::move(*sampled->keys), options.tuning.keys, control, true);
    }));
    outline = keys::outline_of(planned.keys);
  }
  auto shape = shape_of(request, outline, planned.values, threads);
  shape.is_encoded = outline.has_value();
  GARUDA_TRY_ASSIGN(planned.chosen, plan(request, shape));
  if (planned.chosen.offer.takes_whole()) return planned;
  if (planned.chosen.offer.grouping != Grouping::direct) {
    run::PhaseTimer const timer(run.recorder, "encode");
    GARUDA_TRY(run.arena.execute([&] { return keys::gather_words(planned.keys, control); }));
  }
  auto& printable = planned.chosen.plan;
  describe_keys(request, planned.keys, printable);
  describe_aggregates(request.columns, printable);
  if (planned.chosen.offer.grouping != Grouping::slices || request.columns.keys.empty()) return planned;
  run::PhaseTimer const timer(run.recorder, "partition");
  GARUDA_TRY_ASSIGN(planned.digit, run.arena.execute([&]() -> Result<partition::RadixDigit> {
    return choose_slice_digit(planned.keys, printable.radix_bits, control);
  }));
  printable.radix_bits = planned.digit.bits;
  printable.radix_shift = planned.digit.shift;
  printable.mixed_digit = planned.digit.mixed;
  return planned;
}

std::optional<keys::KeyDecoder> key_decoder(resolve::GroupByRequest const& request,
                                            keys::EncodedGroupKeys const& keys) {
  std::vector<DataType> types;
  for (auto const key : request.columns.keys)
    types.push_back(in_form(request.table.schema()[key].type, request.columns.strings));
  return keys::KeyDecoder::create(keys, std::move(types));
}

contract::WholeTable whole_table(TableView table, std::vector<resolve::StateColumn> const& states,
                                 std::vector<ValueReader> const& values, keys::EncodedGroupKeys const& keys) {
  std::optional<keys::GroupKeyOutline> outline;
  if (!keys.attributes.empty()) outline = keys::outline_of(keys);
  auto whole = outlined_table(table, states, values, outline);
  if (outline) {
    auto& words = std::get<contract::KeySpan>(whole.keys).words;
    if (!keys.is_packed) {
      words = keys.word(0);
      for (std::size_t w = 1; w < keys.words.size(); ++w) whole.more_words[w - 1] = keys.word(w);
    } else if (!keys.parts.empty()) {
      whole.key_parts = keys.parts;
    } else if (keys.packed.key_bits == 64) {
      words = keys.packed.words64();
    } else {
      words = keys.packed.words32();
    }
  }
  for (auto const& block : keys::cut_row_blocks(table))
    whole.blocks.push_back({block.first_row, static_cast<std::uint64_t>(block.length)});
  return whole;
}

}  // namespace garuda::group_by
