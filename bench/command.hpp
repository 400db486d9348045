// How the subcommands of `garuda bench` declare their options, and how they print.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/bench_command.hpp"
#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Every subcommand is added to this.
struct Bench {
  CLI::App& app;
  Select const& select;
  WriteTable const& write_table;
  std::atomic<bool> const* cancelled;
};

void add_join(Bench const& bench);
void add_group_by(Bench const& bench);
void add_non_equi(Bench const& bench);
void add_kinds(Bench const& bench);
void add_gpu(Bench const& bench);
void add_partition(Bench const& bench);
void add_histogram(Bench const& bench);
void add_primitives(Bench const& bench);

/// Ends a benchmark. Errors: its own; output, because one whose standard output is lost has failed, too.
Result<void> flushed(Result<void> result);

/// A line of JSON a record, or a few lines for people.
void print(Outcome const& outcome, bool json);
/// Prints all outcomes, or gives their error.
Result<void> print_all(Result<std::vector<Outcome>> const& outcomes, bool json);
/// A row of a Markdown table.
void print_row(std::vector<std::string> const& cells);
void print_header(std::vector<std::string> const& titles);
/// Median and spread in milliseconds, to be put into a table.
std::string ms_cell(Summary const& time);

/// Reads what is separated by commas, each by `parse`, a Result of a string_view.
template <class Parse>
auto list_of(Parse parse) {
  return [parse](std::string_view text) -> Result<std::vector<typename decltype(parse(text))::value_type>> {
    std::vector<typename decltype(parse(text))::value_type> values;
    while (true) {
      auto const comma = text.find(',');
      GARUDA_TRY_ASSIGN(auto value, parse(text.substr(0, comma)));
      values.push_back(std::move(value));
      if (comma == std::string_view::npos) return values;
      text.remove_prefix(comma + 1);
    }
  };
}

/// One subcommand: options, and the request that they fill in, a Sampling. Shared by the parser, which refers to the
/// request, and by what is selected: these end in any order.
template <class Request>
class Command : public std::enable_shared_from_this<Command<Request>> {
 public:
  static std::shared_ptr<Command> add(Bench const& bench, char const* name, char const* about) {
    auto const command = std::make_shared<Command>();
    command->app_ = bench.app.add_subcommand(name, about);
    command->request.cancelled = bench.cancelled;
    return command;
  }

  Request request;

  /// A value that the parser reads.
  template <class T>
  CLI::Option* option(char const* name, T& target, char const* about) {
    return app_->add_option(name, target, about)->capture_default_str();
  }
  CLI::Option* flag(char const* name, bool& target, char const* about) { return app_->add_flag(name, target, about); }
  /// A value that `parse`, a Result of a string_view, reads once the benchmark runs; `initial` stands for an option
  /// that is left out, and where it is empty the target stays as it is.
  template <class T, class Parse>
  CLI::Option* parsed(char const* name, T& target, std::string const& initial, Parse parse, char const* about) {
    auto const text = std::make_shared<std::optional<std::string>>();
    readers_.push_back([&target, text, initial, parse]() -> Result<void> {
      if (!*text && initial.empty()) return {};
      GARUDA_TRY_ASSIGN(target, parse(std::string_view(text->has_value() ? **text : initial)));
      return {};
    });
    return app_->add_option(name, *text, about)->default_str(initial);
  }
  void device(std::optional<std::string>& target) { app_->add_option("--device", target, kDevice); }
  void device(std::string& target) { option("--device", target, kDevice); }
  void sampling(char const* repeated, char const* seeded) {
    option("--repeat", request.repeat, repeated);
    option("--seed", request.seed, seeded);
  }
  void json(char const* about) { flag("--json", json_, about); }

  /// `run`: a Result<void> of the request and of whether JSON is wanted.
  template <class Run>
  void runs(Bench const& bench, Run run) {
    app_->callback([self = this->shared_from_this(), select = bench.select, run] {
      select([self, run] { return flushed(self->read_and(run)); });
    });
  }

  /// `run`: a Result of outcomes, of the request.
  template <class Run>
  void prints(Bench const& bench, Run run) {
    runs(bench, [run](Request const& asked, bool json) { return print_all(run(asked), json); });
  }

 private:
  static constexpr char const* kDevice = "auto, an index or part of a name";

  template <class Run>
  Result<void> read_and(Run const& run) {
    for (auto const& reader : readers_) GARUDA_TRY(reader());
    return run(request, json_);
  }

  CLI::App* app_ = nullptr;
  std::vector<std::function<Result<void>()>> readers_;
  bool json_ = false;
};

}  // namespace garuda::bench
