# Prints what the agent of this host hosts, from its own file, and changes nothing.
# Usage: read_hosted.ps1 FILE
# Of the file, only brackets, commas, colons and the values of the keys below leave the host.
# All other keys and values are emptied, "password" and "userPwd" among them.
param([string]$File)
$ErrorActionPreference = 'Stop'
if (-not [IO.Directory]::Exists([IO.Path]::GetDirectoryName($File))) {
    [Console]::Out.WriteLine('bk-hosted no-directory')
    exit 0
}
try {
    $stream = New-Object IO.FileStream($File, [IO.FileMode]::Open, [IO.FileAccess]::Read, [IO.FileShare]'ReadWrite, Delete')
    $text = (New-Object IO.StreamReader($stream)).ReadToEnd() -replace '[\x00\r\n]', ''
    $stream.Close()
} catch {
    $why = $_.Exception
    while ($why.InnerException) { $why = $why.InnerException }
    if ($why -is [IO.FileNotFoundException]) {
        [Console]::Out.WriteLine('bk-hosted missing')
    } else {
        [Console]::Out.WriteLine('bk-hosted unreadable')
    }
    exit 0
}
$known = 'proc|contact|valuekey|procName|setupPath|pidPath|user|startCmd|stopCmd|restartCmd|reloadCmd|killCmd|versionCmd|healthCmd|type|cpulmt|memlmt|startCheckBeginTime|startCheckEndTime|opTimeOut|operateType|timestamp'
$string = '"(?:[^"\\]|\\.)*"'
$token = '(?<keep>"(?:' + $known + ')"[ \t]*:[ \t]*(?:' + $string + '|[^\[\]{}:,"\s]+|(?=[\[{])))' +
    '|(?<key>' + $string + '(?=[ \t]*:))|(?<string>' + $string + ')|(?<mark>[\[\]{}:,\s]+|")|(?<other>[^\[\]{}:,"\s]+)'
$out = New-Object Text.StringBuilder
foreach ($match in [regex]::Matches($text, $token)) {
    if ($match.Groups['keep'].Success -or $match.Groups['mark'].Success) {
        foreach ($char in $match.Value.ToCharArray()) {
            if ([int]$char -ge 32 -and [int]$char -lt 127) { [void]$out.Append($char) }
            else { [void]$out.Append('\u').Append(([int]$char).ToString('x4')) }
        }
    }
    elseif ($match.Groups['key'].Success) { [void]$out.Append('"-"') }
    elseif ($match.Groups['string'].Success) { [void]$out.Append('""') }
    else { [void]$out.Append('0') }
}
[Console]::Out.WriteLine('bk-hosted begin')
[Console]::Out.WriteLine($out.ToString())
[Console]::Out.WriteLine('bk-hosted end')
