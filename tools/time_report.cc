#include "tools/time_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/trainer.pb.h"
#include "tools/text_table.h"

namespace lockstep {
namespace {

// A tenth of the time is where a change is worth the effort: removing it makes the job 1.1 times as fast.
constexpr double kBottleneckShare = 0.10;
// Below this, starting up and the first steps drown the rest.
constexpr double kLeastSecondsToJudge = 1.0;
// Longer tables are cut; the summary file has all ranks.
constexpr int kMostRanksShown = 64;

double Total(const v1::RankStats& rank) {
  return rank.input_seconds() + rank.compute_seconds() + rank.exposed_communication_seconds();
}

double InputShare(const v1::RankStats& rank) { return rank.input_seconds() / Total(rank); }
double ExposedShare(const v1::RankStats& rank) { return rank.exposed_communication_seconds() / Total(rank); }

int Percent(double share) { return static_cast<int>(std::lround(share * 100)); }

template <typename Share>
const v1::RankStats& RankWithMost(const v1::JobSummary& summary, Share share) {
  return *std::max_element(
      summary.ranks().begin(), summary.ranks().end(),
      [&](const v1::RankStats& a, const v1::RankStats& b) { return share(a) < share(b); });
}

bool LongEnough(const v1::JobSummary& summary) {
  return std::all_of(summary.ranks().begin(), summary.ranks().end(),
                     [](const v1::RankStats& rank) { return Total(rank) >= kLeastSecondsToJudge; });
}

}  // namespace

// Ranks wait for each other in every step, so the rank that waits least for communication is the slowest one.
// What even that rank waits is the network's; what the others wait in addition is due to it.
std::string Verdict(const v1::JobSummary& summary) {
  if (!LongEnough(summary))
    return absl::StrFormat("The job was too short to say what limits it (less than %.0f s per rank).",
                           kLeastSecondsToJudge);
  const v1::RankStats& hungry = RankWithMost(summary, InputShare);
  const v1::RankStats& waiting = RankWithMost(summary, ExposedShare);
  const v1::RankStats& slowest =
      RankWithMost(summary, [](const v1::RankStats& rank) { return -ExposedShare(rank); });
  const double input = InputShare(hungry);
  const double network = ExposedShare(slowest);
  const double uneven = ExposedShare(waiting) - network;

  if (input >= kBottleneckShare && input >= network) {
    return absl::StrFormat(
        "Input is the bottleneck: rank %d waited %d %% of the time for rows. Raise "
        "threading.inter_op_threads or prefetch, or use a binary format.",
        hungry.rank(), Percent(input));
  }
  if (network >= kBottleneckShare) {
    return absl::StrFormat(
        "Communication limits scaling: every rank waited %d %% of the time or more for gradients. A "
        "larger batch per rank or a faster network helps; more ranks help less.",
        Percent(network));
  }
  if (uneven >= kBottleneckShare) {
    return absl::StrFormat(
        "Rank %d (%s) is the slowest: rank %d waited %d %% of the time, mostly for it. Give all ranks equal "
        "processors.",
        slowest.rank(), slowest.address(), waiting.rank(), Percent(ExposedShare(waiting)));
  }
  return absl::StrFormat(
      "Computation is what takes the time: input (%d %%) and communication (%d %%) keep up.", Percent(input),
      Percent(ExposedShare(waiting)));
}

std::string TimeReport(const v1::JobSummary& summary) {
  if (summary.ranks().empty()) return "";
  constexpr auto kRight = TextTable::Align::kRight;
  TextTable table({{"rank", kRight},
                   {"address"},
                   {"input s", kRight},
                   {"compute s", kRight},
                   {"exposed communication s", kRight},
                   {"rows/s", kRight}});
  for (int i = 0; i < std::min(summary.ranks_size(), kMostRanksShown); ++i) {
    const v1::RankStats& rank = summary.ranks(i);
    const double rate = Total(rank) > 0 ? static_cast<double>(rank.rows()) / Total(rank) : 0;
    table.AddRow({absl::StrCat(rank.rank()), rank.address(), absl::StrFormat("%.2f", rank.input_seconds()),
                  absl::StrFormat("%.2f", rank.compute_seconds()),
                  absl::StrFormat("%.2f", rank.exposed_communication_seconds()),
                  absl::StrFormat("%.0f", rate)});
  }
  const int hidden = summary.ranks_size() - kMostRanksShown;
  return absl::StrCat(table.ToString(), hidden > 0 ? absl::StrCat("and ", hidden, " more ranks\n") : "",
                      Verdict(summary), "\n");
}

}  // namespace lockstep
