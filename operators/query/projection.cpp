#include "operators/query/projection.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "expr/columns.hpp"
#include "expr/dictionary_parts.hpp"
#include "expr/evaluator.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/query/relation.hpp"

namespace garuda::query {
namespace {

/// Rows that one thread takes at a time.
constexpr std::uint64_t kMorselRows = std::uint64_t{1} << 16;

/// Rows [begin, end) of the batches of a table, in no more than one of them.
struct Morsel {
  std::size_t batch = 0;
  std::uint64_t begin = 0;  ///< row of the table
  std::uint64_t end = 0;
};

std::vector<Morsel> cut_morsels(TableView table) {
  std::vector<Morsel> morsels;
  std::uint64_t first = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const end = first + static_cast<std::uint64_t>(table.batch(b).num_rows);
    for (; first < end; first = std::min(first + kMorselRows, end))
      morsels.push_back({b, first, std::min(first + kMorselRows, end)});
  }
  return morsels;
}

/// An expression ready to run: its program, and the columns of a table that are the program's inputs. Columns behind
/// those of the table are parts of the expression that were evaluated once a dictionary value.
struct Compiled {
  std::vector<std::size_t> columns;
  std::vector<Table> parts;
  expr::Program program;
  DataType type;

  static Result<Compiled> create(TableView table, expr::Expression const& expression, expr::Nulls nulls) {
    Compiled compiled;
    compiled.type = expression.type;
    GARUDA_TRY_ASSIGN(auto split, expr::evaluate_dictionaries(table, expression));
    compiled.parts = std::move(split.parts);
    expr::visit_columns(split.expression, [&](std::size_t& column) {
      auto const place = std::ranges::find(compiled.columns, column);
      auto const input = static_cast<std::size_t>(place - compiled.columns.begin());
      if (place == compiled.columns.end()) compiled.columns.push_back(column);
      column = input;
    });
    std::vector<DataType> types;
    for (auto const column : compiled.columns) {
      auto const [from, position] = compiled.source_of(table, column);
      auto const& type = from.schema()[position].type;
      types.push_back(type.id == TypeId::dictionary ? *type.value : type);
    }
    GARUDA_TRY_ASSIGN(compiled.program, expr::compile(split.expression, types, nulls));
    return compiled;
  }

  /// The table that an input comes from, and its position there.
  std::pair<TableView, std::size_t> source_of(TableView table, std::size_t column) const {
    auto const own = table.num_columns();
    return column < own ? std::pair(table, column) : std::pair(parts[column - own].view(), std::size_t{0});
  }
};

/// Runs one program over morsels of a table. Used by one thread.
class Runner {
 public:
  static Result<Runner> create(TableView table, Compiled const& compiled) {
    Runner runner;
    for (auto const column : compiled.columns) {
      auto const [from, position] = compiled.source_of(table, column);
      GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(from, position));
      runner.readers_.push_back(std::move(reader));
    }
    runner.evaluator_ = std::make_unique<expr::Evaluator>(compiled.program);
    return runner;
  }

  Result<expr::Vector> run(std::uint64_t begin, std::size_t count) {
    for (std::size_t r = 0; r < readers_.size(); ++r) evaluator_->inputs()[r] = readers_[r].read(begin, count);
    return evaluator_->run(count);
  }

 private:
  std::vector<expr::ColumnReader> readers_;
  std::unique_ptr<expr::Evaluator> evaluator_;
};

/// Calls body(runner, m) for every morsel; runners are made by threads that need one. Errors: the first of any morsel.
template <class Body>
Result<void> for_each_morsel(TableView table, Compiled const& compiled, std::size_t morsels, Control const& control,
                             Body const& body) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Runner>> idle;
  Result<void> outcome;
  auto const take = [&]() -> Result<std::unique_ptr<Runner>> {
    {
      std::lock_guard const lock(mutex);
      if (!idle.empty()) {
        auto runner = std::move(idle.back());
        idle.pop_back();
        return runner;
      }
    }
    GARUDA_TRY_ASSIGN(auto runner, Runner::create(table, compiled));
    return std::make_unique<Runner>(std::move(runner));
  };
  auto const run_morsel = [&](std::size_t m) -> Result<std::unique_ptr<Runner>> {
    GARUDA_TRY_ASSIGN(auto runner, take());
    GARUDA_TRY(body(*runner, m));
    return runner;
  };
  auto const all = for_each_block(morsels, &control, [&](std::size_t m) {
    auto runner = run_morsel(m);
    std::lock_guard const lock(mutex);
    if (runner)
      idle.push_back(std::move(*runner));
    else if (outcome)
      outcome = tl::unexpected(std::move(runner).error());
  });
  return outcome ? all : outcome;
}

/// Calls body(begin, count) for the vectors of a morsel.
template <class Body>
Result<void> for_each_vector(Morsel const& morsel, Body const& body) {
  for (auto row = morsel.begin; row < morsel.end; row += expr::kVectorRows)
    GARUDA_TRY(body(row, static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, morsel.end - row))));
  return {};
}

/// Row ids of the rows that pass, a list for each morsel.
Result<std::vector<std::vector<std::int64_t>>> passing_rows(TableView table, Compiled const& predicate,
                                                            Control const& control) {
  auto const morsels = cut_morsels(table);
  std::vector<std::vector<std::int64_t>> passing(morsels.size());
  GARUDA_TRY(for_each_morsel(table, predicate, morsels.size(), control, [&](Runner& runner, std::size_t m) {
    return for_each_vector(morsels[m], [&](std::uint64_t begin, std::size_t count) -> Result<void> {
      GARUDA_TRY_ASSIGN(auto const vector, runner.run(begin, count));
      auto const* const passes = vector.as<std::uint8_t>();
      auto& rows = passing[m];
      auto const first = rows.size();
      rows.resize(first + count + 1);
      auto* to = rows.data() + first;
      for (std::size_t i = 0; i < count; ++i) {
        *to = static_cast<std::int64_t>(begin + i);
        to += passes[i * vector.stride()];
      }
      rows.resize(static_cast<std::size_t>(to - rows.data()));
      return {};
    });
  }));
  return passing;
}

/// The values of an expression, a piece for each morsel.
Result<std::vector<expr::WrittenColumn>> computed(TableView table, std::span<Morsel const> morsels,
                                                  expr::Expression const& expression, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const compiled, Compiled::create(table, expression, expr::Nulls::kept));
  std::vector<expr::WrittenColumn> pieces(morsels.size());
  GARUDA_TRY(for_each_morsel(table, compiled, morsels.size(), control, [&](Runner& runner, std::size_t m) {
    expr::ColumnWriter writer(compiled.type);
    return for_each_vector(morsels[m],
                           [&](std::uint64_t begin, std::size_t count) -> Result<void> {
                             GARUDA_TRY_ASSIGN(auto const vector, runner.run(begin, count));
                             return writer.append(vector, count);
                           })
        .map([&] { pieces[m] = writer.finish(); });
  }));
  return pieces;
}

/// Keeps what the columns of a batch refer to.
struct Owners {
  std::shared_ptr<void const> input;
  std::vector<std::shared_ptr<void const>> computed;
};

Result<Table> project(TableView table, std::span<ProjectedColumn const> columns, Control const& control) {
  auto const morsels = cut_morsels(table);
  std::vector<std::vector<expr::WrittenColumn>> pieces(columns.size());
  Schema schema;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    schema.push_back(field_of(columns[c], table.schema(), column_name(c)));
    if (auto const* const expression = std::get_if<expr::Expression>(&columns[c])) {
      GARUDA_TRY_ASSIGN(pieces[c], computed(table, morsels, *expression, control));
    }
  }
  std::vector<Batch> batches;
  std::uint64_t first = 0;
  for (std::size_t m = 0; m < morsels.size(); ++m) {
    auto const& morsel = morsels[m];
    if (m > 0 && morsels[m - 1].batch != morsel.batch) first = morsel.begin;
    auto const& from = table.batch(morsel.batch);
    auto const rows = static_cast<std::int64_t>(morsel.end - morsel.begin);
    auto owners = std::make_shared<Owners>(Owners{from.owner, {}});
    Batch batch{rows, {}, {}};
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (auto const* const position = std::get_if<std::size_t>(&columns[c])) {
        batch.columns.push_back(slice(from.columns[*position], static_cast<std::int64_t>(morsel.begin - first), rows));
      } else {
        batch.columns.push_back(pieces[c][m].array);
        owners->computed.push_back(std::move(pieces[c][m].owner));
      }
    batch.owner = std::move(owners);
    batches.push_back(std::move(batch));
  }
  return Table(std::move(schema), std::move(batches));
}

}  // namespace

Result<Table> filter_rows(TableView table, expr::Expression const& predicate, Control const& control) {
  try {
    GARUDA_TRY_ASSIGN(auto const compiled, Compiled::create(table, predicate, expr::Nulls::false_));
    GARUDA_TRY_ASSIGN(auto const passing, passing_rows(table, compiled, control));
    return gather_rows(table, passing, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the rows of a filter");
  }
}

Result<Table> project_rows(TableView table, std::span<ProjectedColumn const> columns, Control const& control) {
  try {
    bool const is_picked =
        std::ranges::all_of(columns, [](auto const& column) { return std::holds_alternative<std::size_t>(column); });
    if (!is_picked) return project(table, columns, control);
    std::vector<std::size_t> positions;
    for (auto const& column : columns) positions.push_back(std::get<std::size_t>(column));
    return pick_columns(table, positions);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the columns of a projection");
  }
}

}  // namespace garuda::query
