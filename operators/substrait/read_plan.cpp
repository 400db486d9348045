#include "operators/substrait/read_plan.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nested/nested_layout.hpp"
#include "operators/query/bind.hpp"
#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/relation.hpp"

namespace garuda::substrait {
namespace {

/// The first minor version whose fields are where they are read.
constexpr std::uint64_t kFirstMinor = 20;

/// Checks the version, and gives the producer's name.
Result<std::string> read_producer(Message const& plan) {
  if (!plan.has(PlanField::version)) return fail(ErrorCode::usage, "the plan says no version of Substrait");
  GARUDA_TRY_ASSIGN(auto const version, plan.message(PlanField::version));
  GARUDA_TRY_ASSIGN(auto const major, version.integer(VersionField::major));
  GARUDA_TRY_ASSIGN(auto const minor, version.integer(VersionField::minor));
  GARUDA_TRY_ASSIGN(auto const producer, version.bytes(VersionField::producer));
  if (major == 0 && minor >= kFirstMinor) return std::string(producer);
  return fail(ErrorCode::usage, fmt::format("plans are read of Substrait 0.{} and later 0.x, not this one's, by '{}': "
                                            "{}.{}",
                                            kFirstMinor, producer, major, minor));
}

/// Whether a collection is one of Substrait's, by its URN or, in earlier versions, the end of its URI. DataFusion,
/// whose functions are of none, has no name for theirs.
bool is_known(std::string_view collection) {
  constexpr std::string_view kUrn = "extension:io.substrait:functions_";
  if (collection.starts_with(kUrn)) return true;
  auto const slash = collection.rfind('/');
  auto const file = collection.substr(slash == std::string_view::npos ? 0 : slash + 1);
  auto const folder = collection.substr(0, collection.size() - file.size());
  bool const is_theirs = folder.empty() || folder == "/" || folder.find("substrait-io/substrait/") != folder.npos;
  return is_theirs && file.starts_with("functions_") && file.ends_with(".yaml");
}

/// Names of collections by their anchors.
Result<std::map<std::uint64_t, std::string>> read_collections(Message const& plan, PlanField field) {
  GARUDA_TRY_ASSIGN(auto const messages, plan.messages(field));
  std::map<std::uint64_t, std::string> names;
  for (auto const& message : messages) {
    GARUDA_TRY_ASSIGN(auto const anchor, message.integer(CollectionField::anchor));
    GARUDA_TRY_ASSIGN(auto const name, message.bytes(CollectionField::name));
    names[anchor] = name;
  }
  return names;
}

Result<void> read_functions(Message const& plan, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const urns, read_collections(plan, PlanField::urns));
  GARUDA_TRY_ASSIGN(auto const uris, read_collections(plan, PlanField::old_uris));
  GARUDA_TRY_ASSIGN(auto const declarations, plan.messages(PlanField::extensions));
  for (auto const& declaration : declarations) {
    if (!declaration.has(DeclarationField::function)) continue;
    GARUDA_TRY_ASSIGN(auto const function, declaration.message(DeclarationField::function));
    GARUDA_TRY_ASSIGN(auto const anchor, function.integer(FunctionDeclarationField::anchor));
    GARUDA_TRY_ASSIGN(auto const name, function.bytes(FunctionDeclarationField::name));
    GARUDA_TRY_ASSIGN(auto const urn, function.integer(FunctionDeclarationField::urn));
    GARUDA_TRY_ASSIGN(auto const uri, function.integer(FunctionDeclarationField::old_uri));
    DeclaredFunction declared{std::string(name.substr(0, name.find(':')))};
    if (auto const found = urns.find(urn); found != urns.end()) {
      if (!is_known(found->second)) declared.unknown_collection = found->second;
    } else if (auto const old = uris.find(uri); old != uris.end() && !is_known(old->second)) {
      declared.unknown_collection = old->second;
    }
    context.functions[anchor] = std::move(declared);
  }
  return {};
}

/// The relation of the plan, and the names of its fields; none: the relation has no names of its own.
struct Root {
  Message relation;
  std::vector<std::string_view> names;
};

Result<Root> read_root(Message const& plan) {
  GARUDA_TRY_ASSIGN(auto const relations, plan.messages(PlanField::relations));
  if (relations.size() != 1)
    return fail(ErrorCode::usage, fmt::format("a plan with one relation is read, not with {}", relations.size()));
  if (!relations[0].has(PlanRelField::root))
    return fail(ErrorCode::usage, "the relation of the plan is no root, which names its columns");
  GARUDA_TRY_ASSIGN(auto const root, relations[0].message(PlanRelField::root));
  GARUDA_TRY_ASSIGN(auto relation, root.message(RootField::input));
  GARUDA_TRY_ASSIGN(auto names, root.all_bytes(RootField::names));
  return Root{std::move(relation), std::move(names)};
}

/// The number of names that the fields inside a type have in a list of names, which goes into structs first.
std::size_t count_inner_names(NestedType const& type) {
  std::size_t names = 0;
  for (auto const& child : type.children) names += count_inner_names(child);
  // The two columns of a map have no names in Substrait, though a struct holds them.
  if (type.format == "+m") names -= type.children.front().children.size();
  return type.format == "+s" ? names + type.children.size() : names;
}

/// The names of the columns of a relation, without those of the fields inside them, which types have.
Result<std::vector<std::string_view>> column_names(Root const& root, Relation const& relation) {
  auto const wrong_number = [&] {
    return fail(ErrorCode::invalid_input,
                fmt::format("the root of the plan has {} names for {} fields, of which there is at least one",
                            root.names.size(), relation.fields.size()));
  };
  if (root.names.empty() || root.names.size() < relation.fields.size()) return wrong_number();
  if (root.names.size() == relation.fields.size()) return root.names;
  GARUDA_TRY_ASSIGN(auto const bound, query::bind(relation.query));
  std::vector<std::string_view> names;
  std::size_t next = 0;
  for (auto const field : relation.fields) {
    if (next >= root.names.size()) return wrong_number();
    names.push_back(root.names[next]);
    auto const& nested = bound.schema[field].type.nested;
    next += 1 + (nested == nullptr ? 0 : count_inner_names(*nested));
  }
  if (next != root.names.size()) return wrong_number();
  return names;
}

}  // namespace

Result<std::string> function_name(PlanContext const& context, std::uint64_t anchor) {
  auto const found = context.functions.find(anchor);
  if (found != context.functions.end()) {
    auto const& [name, unknown_collection] = found->second;
    if (unknown_collection.empty()) return name;
    return fail(ErrorCode::usage,
                fmt::format("function '{}' of the plan is of a collection that queries do not have: {}", name,
                            unknown_collection));
  }
  return fail(ErrorCode::invalid_input, fmt::format("the plan calls a function that it does not declare: {}", anchor));
}

Result<Query> read_plan(std::span<std::byte const> plan, FindTable const& find) {
  std::string_view const bytes(reinterpret_cast<char const*>(plan.data()), plan.size());
  if (auto const first = bytes.find_first_not_of(" \t\r\n"); first != std::string_view::npos && bytes[first] == '{')
    return fail(ErrorCode::invalid_input, "the plan is JSON, and plans are read as binary messages of Substrait");
  GARUDA_TRY_ASSIGN(auto const message, Message::parse(bytes));
  GARUDA_TRY_ASSIGN(auto const producer, read_producer(message));
  PlanContext context{.find = &find, .projects_alone = producer == "DuckDB"};
  GARUDA_TRY(read_functions(message, context));
  GARUDA_TRY_ASSIGN(auto const root, read_root(message));
  GARUDA_TRY_ASSIGN(auto const relation, read_relation(root.relation, context));
  GARUDA_TRY_ASSIGN(auto const names, column_names(root, relation));
  std::vector<NamedExpression> columns;
  for (std::size_t f = 0; f < names.size(); ++f) columns.push_back({std::string(names[f]), column(relation.fields[f])});
  return relation.query.project(std::move(columns));
}

}  // namespace garuda::substrait
