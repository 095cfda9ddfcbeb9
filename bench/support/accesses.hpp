/// The accesses of a call to memory that several processes map, found by single-stepping and decoding each
/// instruction. x86-64 only.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/single_step.hpp"

namespace bench {

enum class AccessKind : std::uint8_t { load, store, atomic, end };

/// A cache line of shared memory, the same in every process that maps it.
struct SharedLine {
  std::uint64_t file;  ///< inode
  std::uint64_t number;
  bool operator==(SharedLine const&) const = default;
};

struct Access {
  SharedLine line;
  AccessKind kind;
  std::uint32_t instructions;  ///< since the access before, or the beginning of the call
};

/// The memory that this process shares with others.
class SharedMemory {
 public:
  SharedMemory() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      Range range{};
      char rights[5] = {};
      int const found = std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %lu", &range.begin, &range.end, rights,
                                    &range.offset, &range.file);
      if (found == 5 && rights[3] == 's') ranges_.push_back(range);
    }
  }
  std::optional<SharedLine> line_of(std::uint64_t address) const {
    auto const found = std::find_if(ranges_.begin(), ranges_.end(), [address](Range const& range) {
      return address >= range.begin && address < range.end;
    });
    if (found == ranges_.end()) return std::nullopt;
    constexpr std::uint64_t line_bytes = 64;
    return SharedLine{found->file, (address - found->begin + found->offset) / line_bytes};
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;  ///< in the file
    std::uint64_t file;    ///< inode
  };
  std::vector<Range> ranges_;
};

/// Records accesses to shared memory. An access that spans two lines counts for the first one.
class AccessRecorder {
 public:
  AccessRecorder() {
    if (::cs_open(CS_ARCH_X86, CS_MODE_64, &decoder_) != CS_ERR_OK) std::abort();
    ::cs_option(decoder_, CS_OPT_DETAIL, CS_OPT_ON);
  }

  void step(user_regs_struct const& registers) {
    ++instructions_;
    constexpr std::size_t longest = 15;
    cs_insn* decoded = nullptr;
    auto const* const code = reinterpret_cast<std::uint8_t const*>(registers.rip);
    if (::cs_disasm(decoder_, code, longest, registers.rip, 1, &decoded) == 0) return;
    note(*decoded, registers);
    ::cs_free(decoded, 1);
  }
  /// The accesses, and an `end` with the instructions after the last access.
  std::vector<Access> results() const {
    std::vector<Access> all = accesses_;
    all.push_back({{}, AccessKind::end, instructions_});
    return all;
  }

 private:
  void note(cs_insn const& instruction, user_regs_struct const& registers) {
    cs_x86 const& x86 = instruction.detail->x86;
    for (int i = 0; i < x86.op_count; ++i) {
      cs_x86_op const& operand = x86.operands[i];
      if (operand.type != X86_OP_MEM || operand.access == 0) continue;
      auto const line = memory_.line_of(address_of(operand.mem, instruction, registers));
      if (!line) continue;
      bool const atomic = x86.prefix[0] == X86_PREFIX_LOCK || instruction.id == X86_INS_XCHG;
      // The decoder marks both operands of vector moves as read.
      std::string_view const name = instruction.mnemonic;
      bool const moves = name.starts_with("mov") || name.starts_with("vmov");
      bool const writes = moves ? i == 0 : (operand.access & CS_AC_WRITE) != 0;
      accesses_.push_back({*line,
                           atomic   ? AccessKind::atomic
                           : writes ? AccessKind::store
                                    : AccessKind::load,
                           instructions_});
      instructions_ = 0;
    }
  }

  static std::uint64_t address_of(x86_op_mem const& memory, cs_insn const& instruction,
                                  user_regs_struct const& registers) {
    std::uint64_t address = static_cast<std::uint64_t>(memory.disp);
    if (memory.segment == X86_REG_FS) address += registers.fs_base;
    address += memory.base == X86_REG_RIP ? instruction.address + instruction.size
                                          : value_of(memory.base, registers);
    return address + value_of(memory.index, registers) * static_cast<std::uint64_t>(memory.scale);
  }

  static std::uint64_t value_of(unsigned name, user_regs_struct const& registers) {
    switch (name) {
      case X86_REG_RAX: return registers.rax;
      case X86_REG_RBX: return registers.rbx;
      case X86_REG_RCX: return registers.rcx;
      case X86_REG_RDX: return registers.rdx;
      case X86_REG_RSI: return registers.rsi;
      case X86_REG_RDI: return registers.rdi;
      case X86_REG_RBP: return registers.rbp;
      case X86_REG_RSP: return registers.rsp;
      case X86_REG_R8: return registers.r8;
      case X86_REG_R9: return registers.r9;
      case X86_REG_R10: return registers.r10;
      case X86_REG_R11: return registers.r11;
      case X86_REG_R12: return registers.r12;
      case X86_REG_R13: return registers.r13;
      case X86_REG_R14: return registers.r14;
      case X86_REG_R15: return registers.r15;
      default: return 0;  // none
    }
  }

  csh decoder_ = 0;
  SharedMemory memory_;
  std::vector<Access> accesses_;
  std::uint32_t instructions_ = 0;
};

}  // namespace bench
