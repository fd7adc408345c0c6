#include "audit/id_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using leafctl::BlockStore;
using leafctl::IdRun;
using leafctl::IdRunReader;
using leafctl::IdRunWriter;

namespace {

std::vector<std::int64_t> read_all(BlockStore& store, IdRun run) {
  IdRunReader reader(store, std::move(run));
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; reader.next(id);) ids.push_back(id);
  return ids;
}

std::vector<std::int64_t> through_a_run(const std::vector<std::int64_t>& ids, std::size_t memory,
                                        std::size_t piece) {
  const leaf::test::TemporaryFolder folder;
  BlockStore store(memory, folder.path().string());
  IdRunWriter writer(store, IdRunWriter::smallest_block);
  for (std::size_t begin = 0; begin < ids.size(); begin += piece)
    writer.append(std::span(ids).subspan(begin, std::min(piece, ids.size() - begin)));
  if (!ids.empty()) CHECK(writer.last() == ids.back());
  return read_all(store, writer.finish());
}

}  // namespace

TEST_CASE("audit: a run gives back what it was given, from memory and from a file") {
  std::mt19937_64 random(2);
  for (const int bits : {1, 2, 3, 8, 30, 63}) {
    std::vector<std::int64_t> ids(3000);
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() >> (64 - bits));
    std::ranges::sort(ids);
    for (const std::size_t memory : {0U, 1000U, 1U << 20}) {
      CHECK(through_a_run(ids, memory, 1) == ids);
      CHECK(through_a_run(ids, memory, 777) == ids);
    }
  }
}

TEST_CASE("audit: a run holds the least and greatest IDs, repeats and stretches") {
  const std::vector<std::int64_t> ids{0, 0, 1, 2, 3, 3, 3, 4, INT64_MAX - 1, INT64_MAX, INT64_MAX};
  CHECK(through_a_run(ids, 0, 3) == ids);
  CHECK(through_a_run({}, 0, 3).empty());
  CHECK(through_a_run({INT64_MAX}, 0, 3) == std::vector{INT64_MAX});
}

TEST_CASE("audit: a stretch without gaps takes a few bytes") {
  const leaf::test::TemporaryFolder folder;
  BlockStore store(0, folder.path().string());
  IdRunWriter writer(store, IdRunWriter::smallest_block);
  std::vector<std::int64_t> ids(100'000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i) + 7;
  writer.append(ids);
  const IdRun run = writer.finish();
  CHECK(store.file_size() < 10);
  CHECK(read_all(store, run) == ids);
}

TEST_CASE("audit: memory that a block gave back is used again, and a file is only made when there is none") {
  BlockStore store(10, "/nonexistent");
  const std::vector<std::uint8_t> bytes(8, 1);
  auto block = store.keep(bytes);
  const auto error = leaf::test::error_text([&] { store.keep(bytes); });
  CHECK(error ==
        "cannot make a temporary file in '/nonexistent': No such file or directory | name a folder with more "
        "room in TMPDIR, or allow more memory with '--memory'");
  store.drop(block);
  store.keep(bytes);
  CHECK(store.file_size() == 0);
}
