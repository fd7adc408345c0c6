#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "leaf/range.hpp"
#include "simulation/ledger.hpp"
#include "simulation/random.hpp"
#include "simulation/world.hpp"
#include "store/grant_marks.hpp"

namespace leaf::simulation {

/// What all have been granted by copies of a store that are used beside each other, each of which may grant
/// the same as the others: the marks of their host alone keep them apart.
class MarkedGrants {
 public:
  static constexpr int copies = 3;

  /// What somebody uses.
  struct Use {
    Range range;
    MarkHolder holder;  ///< 0: nobody's who would be known again
    const Process* process;
    int losses;             ///< how many there had been when it was claimed
    bool is_marked = true;  ///< nobody gave anything back meanwhile
  };
  struct Subject {
    int given_back = 0;                              ///< how often
    int giving_back = 0;                             ///< who does, or has died over it
    std::array<std::int64_t, copies> next{1, 1, 1};  ///< of each copy
    std::vector<Use> uses{};
  };
  struct Settled {
    MarkHolder layout;
    const Process* process;
    int losses;
  };

  /// The file of a mark is about to be lost: removed, or cut, which leaves it in the place of another one.
  void note_loss(const Host& host, const std::shared_ptr<Inode>& file, bool is_cut);
  /// How often that of `subject` was; no such number while it is cut, for whoever is about to replace it
  /// keeps others from it.
  int losses_of(const std::string& subject) const;
  /// Whoever was the first there since has put another one in its place.
  void note_replaced(const std::string& subject) { cut_.erase(subject); }
  /// Whether a thread of a process that lives is in a call about marks.
  bool is_in_use() const { return calls_under_way() > 0; }
  int calls_under_way() const;
  /// Whether the file was cut, and has its name still.
  bool is_cut(const std::string& subject) const {
    const auto cut = cut_.find(subject);
    return cut != cut_.end() && cut->second->links > 0;
  }

  bool are_to_be_lost = false;  ///< files of marks, as soon as nobody looks at them
  std::map<std::string, Subject> subjects{};
  std::vector<Settled> settled{};
  /// How many have asked for the layout since its file was lost.
  int asked_for_layout = 0;
  /// The layout that the host's file had when a process last settled on one.
  std::map<const Process*, MarkHolder> told{};
  std::map<const Process*, int> calls{};
  std::uint64_t calls_begun = 0;  ///< by all
  /// How far the mark of a subject had come when its file was removed, which each of them has mapped.
  std::map<std::pair<const Process*, std::string>, std::int64_t> outlived{};

 private:
  std::map<std::string, int> losses_{};
  std::map<std::string, std::shared_ptr<Inode>> cut_{};
};

/// A program that is granted numbers, as the library is, by copies of a store; and what the marks promise it.
class MarkUser {
 public:
  MarkUser(MarkedGrants& grants, Process& process, Ledger& ledger, Log& log);

  /// One of what it does.
  void act();

 private:
  void claim_ids();
  void lease();
  void lease_alone();
  void settle_layout();
  void raise_and_look();

  /// `is_alone` becomes false if another call about marks comes in between.
  template <typename Work>
  auto asked(Work work, bool* is_alone = nullptr);
  Range granted_by(int copy, MarkedGrants::Subject& subject, std::int64_t floor);
  std::int64_t floor_of(const std::string& subject);
  bool is_claimed(int copy, bool is_new_run, const std::string& subject, Range range, MarkHolder holder,
                  int& losses);
  Range claim_and_use(bool is_new_run, const std::string& name, MarkHolder holder, bool& is_good);
  void use(const std::string& name, const MarkedGrants::Use& claimed);
  void give_back(const std::string& name, std::int64_t end, MarkHolder holder);
  void require_mark_of_others(const std::string& name);
  void require(bool is_good, const char* what, const std::string& subject);
  Random& random() const { return Scheduler::the().random(); }

  MarkedGrants& grants_;
  Process& process_;
  Ledger& ledger_;
  Log& log_;
  std::shared_ptr<GrantMarks> marks_;
  std::int64_t alone_ = 0;   ///< how many subjects it had for itself
  std::int64_t raised_ = 0;  ///< how far
};

}  // namespace leaf::simulation
