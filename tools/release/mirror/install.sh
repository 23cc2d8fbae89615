#!/bin/sh
# Puts the bk provider where init of Terraform and of OpenTofu finds it without a
# network, or removes it from there. It changes nothing else, and needs only the right
# to write there.
#
# usage: ./install.sh                 for you: into ~/.terraform.d/plugins
#        ./install.sh --to DIR        for everyone who names DIR as filesystem_mirror, for all platforms
#        ./install.sh --doctor DIR    put bk-doctor, which finds out what your platform does, into DIR
#        ./install.sh --undo          remove it again
#        ./install.sh --undo --to DIR
#
# DIR is an absolute path.
set -eu
version='VERSION'
to='' undo='' doctor=''
while [ $# -gt 0 ]; do
	case $1 in
	--undo) undo=yes ;;
	--to)
		[ $# -gt 1 ] || { echo "install.sh: --to needs a directory" >&2; exit 2; }
		shift
		to=$1
		;;
	--doctor)
		[ $# -gt 1 ] || { echo "install.sh: --doctor needs a directory" >&2; exit 2; }
		shift
		doctor=$1
		;;
	*)
		sed -e 1d -e '/^[^#]/,$d' -e 's/^# \{0,1\}//' "$0" >&2
		exit 2
		;;
	esac
	shift
done

for dir in "$to" "$doctor"; do
	case $dir in '' | /*) ;; *) echo "install.sh: $dir: give the whole path, from /" >&2; exit 2 ;; esac
done
[ -z "$doctor" ] || [ -z "$to$undo" ] || { echo "install.sh: give --doctor alone" >&2; exit 2; }
cd "$(dirname "$0")"

if [ -n "$to" ]; then
	platforms='*'
else
	to=${HOME:?}/.terraform.d/plugins
	machine=$(uname -m)
	case $machine in
	x86_64 | amd64) machine=amd64 ;;
	aarch64 | arm64) machine=arm64 ;;
	i?86) machine=386 ;;
	arm*) machine=arm ;;
	esac
	platforms=$(uname -s | tr '[:upper:]' '[:lower:]')_$machine
fi

if [ -n "$undo" ]; then
	for registry in registry.terraform.io registry.opentofu.org; do
		place=$to/$registry/blueking/bk
		for archive in "providers/$registry/blueking/bk"/*.zip; do
			rm -f "$place/$(basename "$archive")"
		done
		# What other versions or providers need stays.
		for dir in "$place" "$to/$registry/blueking" "$to/$registry"; do
			rmdir "$dir" 2>/dev/null || true
		done
	done
	echo "bk $version is gone from $to. Lock files and .terraform directories keep their copies."
	exit 0
fi

# This finds a broken download. Only the signature shows that it is the published one:
# see README.md.
check() { # FILE
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $(basename "$1")\$/\1/p" "terraform-provider-bk_${version}_SHA256SUMS")
	if command -v sha256sum >/dev/null 2>&1; then
		got=$(sha256sum <"$1")
	else
		got=$(shasum -a 256 <"$1")
	fi
	if [ -z "$want" ] || [ "${got%% *}" != "$want" ]; then
		echo "install.sh: $1 is not what terraform-provider-bk_${version}_SHA256SUMS says. Nothing was installed. Unpack the tarball anew, or download it again." >&2
		exit 1
	fi
}

if [ -n "$doctor" ]; then
	archive=doctor/bk-doctor_${version}_$platforms.zip
	[ -f "$archive" ] || { echo "install.sh: this tarball has no $archive" >&2; exit 1; }
	check "$archive"
	command -v unzip >/dev/null 2>&1 || { echo "install.sh: there is no unzip here; unpack $archive by other means" >&2; exit 1; }
	mkdir -p "$doctor"
	unzip -oq "$archive" -d "$doctor"
	echo "bk-doctor $version is in $doctor. Run: $doctor/bk-doctor help"
	exit 0
fi

found=''
for registry in registry.terraform.io registry.opentofu.org; do
	for archive in "providers/$registry/blueking/bk/terraform-provider-bk_${version}_"$platforms.zip; do
		[ -f "$archive" ] || continue
		check "$archive"
		found=yes
	done
done
if [ -z "$found" ]; then
	echo "install.sh: this tarball has nothing for $platforms. It has:" >&2
	ls providers/registry.terraform.io/blueking/bk/ | sed -n 's/.*_\([a-z0-9]*_[a-z0-9]*\)\.zip$/  \1/p' >&2
	exit 1
fi
for registry in registry.terraform.io registry.opentofu.org; do
	place=$to/$registry/blueking/bk
	mkdir -p "$place"
	for archive in "providers/$registry/blueking/bk/terraform-provider-bk_${version}_"$platforms.zip; do
		# A file appears whole or not at all.
		cp "$archive" "$place/.bk.$$"
		mv -f "$place/.bk.$$" "$place/$(basename "$archive")"
	done
done

cat <<END
bk $version is in $to for $platforms.

A configuration that begins like this finds it, with "terraform init" and "tofu init":

  terraform {
    required_providers {
      bk = {
        source  = "blueking/bk"
        version = "$version"
      }
    }
  }
END
if [ "$platforms" = '*' ]; then
	cat <<END

Whoever is to use it names $to in ~/.terraformrc (or ~/.tofurc):

  provider_installation {
    filesystem_mirror {
      path    = "$to"
      include = ["registry.terraform.io/blueking/bk", "registry.opentofu.org/blueking/bk"]
    }
    direct {
      exclude = ["registry.terraform.io/blueking/bk", "registry.opentofu.org/blueking/bk"]
    }
  }
END
elif settings=${TF_CLI_CONFIG_FILE:-$HOME/.terraformrc}; grep -qs provider_installation "$settings"; then
	cat <<END

But $settings has a provider_installation block, which decides alone where to look.
Add to it:

    filesystem_mirror {
      path    = "$to"
      include = ["registry.terraform.io/blueking/bk", "registry.opentofu.org/blueking/bk"]
    }
END
fi
cat <<END

To write a lock file that holds for every platform of this tarball, run in the directory
of the configuration:

  terraform providers lock -fs-mirror="$PWD/providers" -platform=linux_amd64 -platform=darwin_arm64

To find out what your platform does: ./install.sh --doctor DIR, and DIR/bk-doctor help.
To take it away again: ./install.sh --undo$([ "$platforms" = '*' ] && echo " --to $to" || true)
END
