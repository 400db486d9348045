/* Joins customers with their orders and sums up what each has paid, from C: tables in, rows out, and what it took.
 *
 *   cc orders.c -I include -L build/lib -lgaruda -Wl,-rpath,build/lib -o orders && ./orders
 *
 * Columns are given and taken through the Arrow C stream interface. Libraries such as nanoarrow or Arrow GLib make such
 * streams; here one batch of int64 columns is made by hand. */
#include <stdio.h>
#include <stdlib.h>

#include "garuda/arrow_abi.h"
#include "garuda/garuda.h"

enum { MOST_COLUMNS = 2 };

/* One batch of int64 columns, in memory that is never freed. */
struct columns {
  char const* names[MOST_COLUMNS];
  int64_t const* values[MOST_COLUMNS];
  int64_t num_columns;
  int64_t num_rows;
  int is_read; /* set by the stream */
};

static void release_schema(struct ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) free(schema->children[i]);
  free(schema->children);
  schema->release = NULL;
}

static void release_column_schema(struct ArrowSchema* schema) { schema->release = NULL; }

static void release_array(struct ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  free(array->buffers);
  array->release = NULL;
}

static void* allocate(size_t count, size_t size) {
  void* const memory = calloc(count, size);
  if (memory == NULL) abort();
  return memory;
}

static int get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  struct columns const* const table = stream->private_data;
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = table->num_columns, .release = release_schema};
  out->children = allocate((size_t)table->num_columns, sizeof *out->children);
  for (int64_t i = 0; i < table->num_columns; ++i) {
    out->children[i] = allocate(1, sizeof *out->children[i]);
    *out->children[i] =
        (struct ArrowSchema){.format = "l", .name = table->names[i], .release = release_column_schema};
  }
  return 0;
}

static int get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  struct columns* const table = stream->private_data;
  *out = (struct ArrowArray){0}; /* without a release function: the end */
  if (table->is_read) return 0;
  table->is_read = 1;
  *out = (struct ArrowArray){
      .length = table->num_rows, .n_buffers = 1, .n_children = table->num_columns, .release = release_array};
  out->buffers = allocate(1, sizeof *out->buffers); /* no nulls */
  out->children = allocate((size_t)table->num_columns, sizeof *out->children);
  for (int64_t i = 0; i < table->num_columns; ++i) {
    struct ArrowArray* const column = out->children[i] = allocate(1, sizeof *column);
    *column = (struct ArrowArray){.length = table->num_rows, .n_buffers = 2, .release = release_array};
    column->buffers = allocate(2, sizeof *column->buffers);
    column->buffers[1] = table->values[i];
  }
  return 0;
}

static char const* get_last_error(struct ArrowArrayStream* stream) {
  (void)stream;
  return NULL;
}

static void release_stream(struct ArrowArrayStream* stream) { stream->release = NULL; }

static char* error;

static void check(int code) {
  if (code == GARUDA_OK) return;
  fprintf(stderr, "failed with %d: %s\n", code, error != NULL ? error : "out of memory");
  exit(1);
}

static garuda_table* table_of(struct columns* columns) {
  struct ArrowArrayStream stream = {.get_schema = get_schema,
                                    .get_next = get_next,
                                    .get_last_error = get_last_error,
                                    .release = release_stream,
                                    .private_data = columns};
  garuda_table* table;
  check(garuda_table_read(&stream, &table, &error));
  return table;
}

/* Prints the rows of int64 columns. */
static void print(struct ArrowArrayStream* stream) {
  struct ArrowArray batch;
  while (1) {
    if (stream->get_next(stream, &batch) != 0) {
      fprintf(stderr, "cannot be read: %s\n", stream->get_last_error(stream));
      exit(1);
    }
    if (batch.release == NULL) break;
    for (int64_t row = 0; row < batch.length; ++row) {
      for (int64_t i = 0; i < batch.n_children; ++i) {
        struct ArrowArray const* const column = batch.children[i];
        int64_t const position = column->offset + row;
        uint8_t const* const valid = column->null_count == 0 ? NULL : column->buffers[0];
        if (valid != NULL && (valid[position / 8] >> (position % 8) & 1) == 0)
          printf("%8s", "-");
        else
          printf("%8lld", (long long)((int64_t const*)column->buffers[1])[position]);
      }
      printf("\n");
    }
    batch.release(&batch);
  }
  stream->release(stream);
}

static void say_progress(void* calls, struct garuda_progress const* progress) {
  (void)progress;
  ++*(int*)calls;
}

int main(int argc, char** argv) {
  static int64_t const customers[] = {1, 2, 3, 4};
  static int64_t const owners[] = {2, 3, 2, 2, 1};
  static int64_t const prices[] = {250, 100, 400, 50, 75};
  struct columns left = {{"customer"}, {customers}, 1, 4, 0};
  struct columns right = {{"owner", "price"}, {owners, prices}, 2, 5, 0};

  garuda_engine* engine;
  check(garuda_engine_create(&engine, &error));
  garuda_table* const customer_table = table_of(&left);
  garuda_table* const order_table = table_of(&right);

  int calls = 0;
  struct garuda_run_options run = {.size = sizeof run, .on_progress = say_progress, .progress_context = &calls};
  run.path = argc > 1 ? argv[1] : "auto";

  /* Customers without an order stay, their price is null. */
  char const* const left_keys[] = {"customer"};
  char const* const right_keys[] = {"owner"};
  struct garuda_join_options join = {.size = sizeof join, .how = "left", .ordered = 1, .run = &run};
  join.left_keys = left_keys;
  join.right_keys = right_keys;
  join.num_keys = 1;
  garuda_result* result;
  check(garuda_join(engine, customer_table, order_table, &join, &result, &error));
  garuda_table* joined;
  check(garuda_result_table(result, &joined, &error));
  struct ArrowArrayStream rows;
  check(garuda_table_stream(joined, &rows, &error));
  printf("customer   price\n");
  print(&rows);

  char* statistics;
  check(garuda_result_statistics(result, &statistics, &error));
  fprintf(stderr, "%s\n%d reports of progress\n", statistics, calls);
  garuda_string_free(statistics);
  garuda_result_destroy(result);

  uint64_t without_order;
  join.how = "anti";
  check(garuda_join_count(engine, customer_table, order_table, &join, &without_order, NULL, &error));
  printf("%llu without an order\n", (unsigned long long)without_order);

  /* What each customer has paid. */
  char const* const keys[] = {"customer"};
  struct garuda_group_by_options sum = {.size = sizeof sum, .aggregates = "sum:price=paid", .ordered = 1, .run = &run};
  sum.keys = keys;
  sum.num_keys = 1;
  check(garuda_group_by(engine, joined, &sum, &result, &error));
  check(garuda_result_stream(result, &rows, &error));
  printf("customer    paid\n");
  print(&rows);
  garuda_result_destroy(result);

  garuda_table_destroy(joined);
  garuda_table_destroy(order_table);
  garuda_table_destroy(customer_table);
  garuda_engine_destroy(engine);
  return 0;
}
