#include "monitoring/monitor_files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "clock.h"

namespace pse::coschedule
{
namespace
{

template <class Row> void append(std::string &data, const Row &row)
{
    data.append(reinterpret_cast<const char *>(&row), sizeof row);
}

// The format of .npy files, version 1.0: what is in front of the rows of a table.
std::string npy_header(const std::string &fields, size_t rows)
{
    constexpr size_t aligned = 64, preamble = 10;
    std::string text =
        "{'descr': [" + fields + "], 'fortran_order': False, 'shape': (" + std::to_string(rows) + ",), }";
    text.append(aligned - (preamble + text.size() + 1) % aligned, ' ');
    text += '\n';
    auto length = static_cast<uint16_t>(text.size());
    std::string header("\x93NUMPY\x01\x00", 8);
    append(header, length);
    return header + text;
}

// Whoever reads the folder sees all of a file or nothing.
void write_file(const std::string &folder, const std::string &name, const std::string &data)
{
    std::filesystem::create_directories(folder);
    std::string path = folder + "/" + name, draft = path + ".draft";
    FILE *file = std::fopen(draft.c_str(), "wb");
    bool written = file && std::fwrite(data.data(), 1, data.size(), file) == data.size();
    int error = errno;
    if (file && std::fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (!written) {
        std::remove(draft.c_str());
        throw std::system_error(error, std::generic_category(), path);
    }
    std::filesystem::rename(draft, path);
}

// The rows of a process's report.
class Table
{
  public:
    Table(uint32_t rank, uint32_t resolution) : rank_(rank), bins_(Distribution::bins_of(resolution))
    {
    }
    void add(pse_bcs_measure measure, const std::string &routine, const Distribution &one)
    {
        pse_bcs_report_row row{};
        row.rank = rank_;
        row.measure = measure;
        std::snprintf(row.routine, sizeof row.routine, "%s", routine.c_str());
        row.count = one.count;
        row.total = one.total;
        row.least = one.count ? one.least : 0;
        row.greatest = one.greatest;
        append(rows_, row);
        for (size_t bin = 0; bin < bins_; bin++)
            append(rows_, one.bins.empty() ? uint64_t{0} : one.bins[bin]);
        count_++;
    }
    std::string file() const
    {
        std::string fields = PSE_BCS_REPORT_FIELDS;
        return npy_header(fields + "('bins', '<u8', (" + std::to_string(bins_) + ",))", count_) + rows_;
    }

  private:
    uint32_t rank_;
    size_t bins_, count_ = 0;
    std::string rows_;
};

} // namespace

void write_report(const std::string &folder, uint32_t layer, uint32_t rank, const Monitor &monitor)
{
    Table table(rank, monitor.resolution());
    table.add(PSE_BCS_MEASURE_COMPUTATION, "", monitor.computation_until(pse_clock()));
    table.add(PSE_BCS_MEASURE_COMMUNICATION, "", monitor.communication());
    for (const Monitor::Routine &one : monitor.routines()) {
        if (!one.latency.count)
            continue;
        table.add(PSE_BCS_MEASURE_LATENCY, one.name, one.latency);
        table.add(PSE_BCS_MEASURE_SIZE, one.name, one.size);
    }
    write_file(folder, "mmds-" + std::to_string(layer) + "-" + std::to_string(rank) + ".npy", table.file());
}

void write_slices(const std::string &folder, uint32_t layer, const Segment &segment)
{
    std::vector<pse_bcs_slice> rows = segment.kept_slices();
    std::string data = npy_header(PSE_BCS_SLICE_FIELDS, rows.size());
    for (const pse_bcs_slice &row : rows)
        append(data, row);
    uint32_t node = segment.options().node;
    std::string of_node = node ? "-" + std::to_string(node) : "";
    write_file(folder, "emds-" + std::to_string(layer) + of_node + ".npy", data);
}

} // namespace pse::coschedule
