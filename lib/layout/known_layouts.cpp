#include <array>

#include "leaf/layout.hpp"

namespace leaf {
namespace {

// Discord, Instagram and Mastodon call their IDs 64 bits wide. They are kept in signed integers nonetheless,
// so the top bit of their time is the sign: it is left out here, and those layouts end when it would be set.
constexpr std::array<KnownLayout, 9> known{{
    {"leaf", "time:41,worker:10,sequence:12/1ms@1288834974657", "Meituan Leaf"},
    {"twitter", "time:41,datacenter:5,worker:5,sequence:12/1ms@1288834974657", "Twitter, X"},
    {"discord", "time:41,worker:5,process:5,sequence:12/1ms@1420070400000", "Discord"},
    {"instagram", "time:40,shard:13,sequence:10/1ms@1314220021721", "Instagram media"},
    {"mastodon", "time:47,sequence:16/1ms@0", "Mastodon"},
    {"sonyflake", "time:39,sequence:8,machine:16/10ms@1409529600000", "Sonyflake"},
    // Its epoch is midnight of 2016-05-20 in China.
    {"baidu", "time:28,worker:22,sequence:13/1s@1463673600000", "Baidu uid-generator"},
    {"cosid", "time:41,worker:10,sequence:12/1ms@1577203200000", "CosId"},
    {"yitter", "time:51,worker:6,sequence:6/1ms@1582136402000", "Yitter IdGenerator"},
}};

}  // namespace

std::span<const KnownLayout> known_layouts() noexcept {
  return known;
}

}  // namespace leaf
